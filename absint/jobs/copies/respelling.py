"""Writing the dims of an annotated model in another dialect: every text of the main graph and of the bodies in it.

Equal texts still mean equal sizes. A name that the dialect does not read as one is changed everywhere, inputs included;
a size without a text gets a name. Definitions in the metadata give these sizes back to absint, and `absint.names` has
what each new name of an input stands for.
"""

import re
from collections.abc import Collection, Iterator
from functools import cache
from itertools import chain, count
from typing import Final

from onnx.onnx_pb import GraphProto, ModelProto, TensorShapeProto, TypeProto

from absint.jobs.copies.dialects import ABSINT, Dialect, spelled
from absint.lattices.terms.expr import Expr, Symbol, sole_atom, symbol
from absint.lattices.terms.normal import substitute
from absint.lattices.text import dim_params, escapes, layout, notation
from absint.lattices.text.tokens import is_word, pieces, reads_as_name
from absint.model.declared_types import (
    NAMES_KEY,
    definition_texts,
    dim_text,
    read_texts,
    write_definitions,
    write_entry,
)
from absint.model.protos import graphs

DIALECT_KEY: Final = "absint.dialect"
"""The metadata key of the dialect that the dims of a model are written in."""


def respell(model: ModelProto, dialect: Dialect, symbols: Collection[str]) -> None:
    """Change the dims of an annotated model in place; a placeholder stays unless it is one of the symbols."""
    if dialect is not ABSINT:
        _Respelling(model, dialect, symbols).run()


def simplify(model: ModelProto) -> int:
    """Write each expression among the dims of a model in its normal form if that is shorter; the number of changes."""
    changed = 0
    names = {text for text in map(dim_text, _dims_of_inputs(model.graph)) if reads_as_name(text)}
    for proto in chain.from_iterable(_dims_of_graph(graph) for graph in graphs(model.graph)):
        dim = dim_params.read_dim_param(dim_text(proto), names, total=True).dim
        if dim_params.is_unknown(dim) or not isinstance(dim, Expr) or isinstance(sole_atom(dim), Symbol):
            continue
        new = dim_params.format_dim_param(dim)
        if dim.const is not None:
            proto.dim_value = dim.const
        elif new and len(new) < len(proto.dim_param):
            proto.dim_param = new
        else:
            continue
        changed += 1
    return changed


def _dims_of_graph(graph: GraphProto) -> Iterator[TensorShapeProto.Dimension]:
    for info in chain(graph.input, graph.value_info, graph.output):
        yield from named_dims(info.type)


class _Respelling:
    def __init__(self, model: ModelProto, dialect: Dialect, symbols: Collection[str]) -> None:
        self._model, self._dialect, self._symbols = model, dialect, symbols
        self._definitions = definition_texts(model)
        self._defined = read_texts(self._definitions)
        self._names = {dim: name for name, dim in self._defined.items()}
        """Names of sizes that the dialect has no text for."""
        self._taken = set(chain(self._definitions, *map(_words, _texts(model))))
        self._renamed: dict[str, str] = {}
        """New names of symbols."""
        self._replaced: dict[str, str] = {}
        """Texts of the author, by the names that replace them."""
        self._alone = frozenset(filter(_is_symbol, map(dim_text, _dims_of_inputs(model.graph))))
        """The texts that are a name on some input: there others may be expressions over them."""
        self._numbers = count(1)
        self._text = cache(self._respelled)

    def run(self) -> None:
        for dim in _dims_of_inputs(self._model.graph):
            old = dim_text(dim)
            dim.dim_param = self._text(old, True)
            if dim.dim_param != old:
                self._replaced[dim.dim_param] = old
        for graph in graphs(self._model.graph):
            others = chain(graph.value_info, graph.output, () if graph is self._model.graph else graph.input)
            for dim in chain.from_iterable(named_dims(info.type) for info in others):
                dim.dim_param = self._text(dim_text(dim), False)
        # A new name of a symbol of the author's needs none; what stands for an expression does, for inputs too.
        simple = {name for name, text in self._replaced.items() if text in self._renamed}
        kept = {name: text for name, text in self._definitions.items() if name not in simple}
        write_definitions(self._model, {name: self._over_new_names(text) for name, text in kept.items()})
        write_entry(self._model, DIALECT_KEY, self._dialect.name)
        if self._replaced:
            write_entry(self._model, NAMES_KEY, escapes.json_text(dict(self._replaced)))

    def _respelled(self, text: str, is_input: bool) -> str:
        if text in self._definitions:
            return text
        alone = self._alone - {text} if is_input else ()
        dim = dim_params.read_dim_param(text, alone, total=is_input).dim
        if dim_params.is_unknown(dim, self._symbols) or not isinstance(dim, Expr) or dim.const is not None:
            return text
        if isinstance(only := sole_atom(dim), Symbol):
            return self._name(only, text)
        names = {layout.symbol_text(s): self._name(s, s.name) for s in dim.symbols}
        found = spelled(notation.format_dim(dim), self._dialect, names)
        mapping = {s: symbol(self._renamed[s.name]) for s in dim.symbols if s.name in self._renamed}
        renamed = substitute(dim, mapping) if mapping else dim
        return found if found and dim_params.read_dim_param(found, ()).dim is renamed else self._size(dim)

    def _name(self, found: Symbol, text: str) -> str:
        """The name of a symbol in the dialect; `text` is how the model has it."""
        if self._dialect.is_name(text):
            return text
        if found.name not in self._renamed:
            stem = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_")[:_LONGEST_STEM]
            stem = stem if stem and not stem[0].isdigit() else f"n_{stem}"
            options = chain([stem], (f"{stem}_{n}" for n in count(1)))
            self._renamed[found.name] = self._first_free(options)
            self._replaced[self._renamed[found.name]] = text
        return self._renamed[found.name]

    def _size(self, dim: Expr) -> str:
        """The name of a size that has no text in the dialect."""
        if dim not in self._names:
            name = self._first_free(f"size{n}" for n in self._numbers)
            self._names[dim] = name
            self._definitions[name] = notation.format_dim(dim)
        return self._names[dim]

    def _first_free(self, options: Iterator[str]) -> str:
        found = next(name for name in options if name not in self._taken and self._dialect.is_name(name))
        self._taken.add(found)
        return found

    def _over_new_names(self, text: str) -> str:
        """A definition over the new names of symbols."""
        if not self._renamed:
            return text
        tokens = {layout.symbol_text(Symbol(old)): new for old, new in self._renamed.items()}
        found = pieces(text)
        after = [*found[1:], ""]
        return "".join(
            piece if following == "(" and is_word(piece) else tokens.get(piece, piece)
            for piece, following in zip(found, after, strict=True)
        )


_LONGEST_STEM: Final = 60


def _dims_of_inputs(graph: GraphProto) -> Iterator[TensorShapeProto.Dimension]:
    return chain.from_iterable(named_dims(info.type) for info in graph.input)


def named_dims(proto: TypeProto) -> Iterator[TensorShapeProto.Dimension]:
    """The dims in a type that have a text."""
    pending = [proto]
    while pending:
        kind = (current := pending.pop()).WhichOneof("value")
        if kind in ("tensor_type", "sparse_tensor_type"):
            yield from (dim for dim in getattr(current, kind).shape.dim if dim.dim_param)
        elif kind in ("sequence_type", "optional_type"):
            pending.append(getattr(current, kind).elem_type)
        elif kind == "map_type":
            pending.append(current.map_type.value_type)


def _texts(model: ModelProto) -> Iterator[str]:
    for graph in graphs(model.graph):
        yield from map(dim_text, _dims_of_graph(graph))
    for info in chain.from_iterable(getattr(function, "value_info", ()) for function in model.functions):
        yield from map(dim_text, named_dims(info.type))


def _is_symbol(text: str) -> bool:
    dim = dim_params.read_dim_param(text, ()).dim
    return isinstance(dim, Expr) and isinstance(sole_atom(dim), Symbol)


def _words(text: str) -> Iterator[str]:
    yield text
    if not reads_as_name(text):
        yield from re.findall(r"\w+", text)
