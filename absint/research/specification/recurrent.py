"""Layers in time: RNN, GRU, LSTM. X (time, batch, input), or (batch, time, input) with layout 1."""

from __future__ import annotations

from typing import Final

from absint.research.specification.formulas import Int, equal
from absint.research.specification.node import Attribute, Node, Output, tensor
from absint.research.specification.specs import Instance, at, specifies

GATES: Final = {"RNN": 1, "GRU": 3, "LSTM": 4}


def _grid(operator: str) -> list[Instance]:
    gates, outputs = GATES[operator], 3 if operator == "LSTM" else 2

    def layer(*inputs: str | None, hidden_size: int = 4, first: int = 1, **attributes: Attribute) -> Instance:
        found = at(*inputs, outputs=outputs, first=first)
        return found._replace(attributes={"hidden_size": hidden_size, **attributes})

    rows = 4 * gates
    w, r = f"1 {rows} I", f"1 {rows} 4"
    found = [
        layer("T B I", f"D {rows} J", f"E {rows} 4"),
        layer("T B I", "1 G I", "1 K H", hidden_size=2),
        layer("T B I", w, r, f"D {2 * rows}", direction="reverse"),
        layer("T B I", w, r, "1 F"),
        layer("T B I", f"D {rows} I", f"E {rows} 4", direction="bidirectional"),
        layer("T B I", f"2 {rows} I", f"2 {rows} 4", None, None, "D C H", direction="bidirectional"),
        layer("T B I", w, r, None, "int32=1: S", "1 C 4"),
        layer("B T I", w, r, None, "int32=1: S", "C 1 4", layout=1, first=14),
    ]
    if operator == "LSTM":
        found.append(layer("T B I", w, r, None, None, "1 C 4", "1 K H"))
        found.append(layer("T B I", w, r, None, None, None, None, "D P"))
    return found


@specifies("RNN", grid=_grid("RNN"))
@specifies("GRU", grid=_grid("GRU"))
@specifies("LSTM", grid=_grid("LSTM"))
def recurrent(node: Node) -> list[Output]:
    """Y (time, directions, batch, hidden), and the last states (directions, batch, hidden)."""
    x = node.input(0)
    gates, hidden = GATES[node.operator], node.integer("hidden_size")
    directions = 2 if node.text("direction") == "bidirectional" else 1
    batch_first = node.integer("layout") == 1
    steps, batch, width = (x.dims[1], x.dims[0], x.dims[2]) if batch_first else x.dims
    node.needs_elements(x.dims, "onnxruntime may fail over an empty sequence")
    carried = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    states = (5, 6) if node.operator == "LSTM" else (5,)
    wanted: dict[int, tuple[Int, ...]] = {
        1: (directions, gates * hidden, width),
        2: (directions, gates * hidden, hidden),
        3: (directions, 2 * gates * hidden),
        4: (batch,),
        **dict.fromkeys(states, carried),
        7: (directions, 3 * hidden),
    }
    node.fit(wanted, "each input must fit directions, gates, batch and hidden values")
    for place in (4, *states):
        if (given := node.optional(place)) is not None:
            for size, fitting in zip(given.dims, wanted[place], strict=True):
                node.limits(equal(size, fitting), "onnxruntime may read beyond lengths and states that do not fit")
    every: list[Int] = [batch, steps, directions, hidden] if batch_first else [steps, directions, batch, hidden]
    return [tensor(every), *(tensor(carried) for _ in states)]
