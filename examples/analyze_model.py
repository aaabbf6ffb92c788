"""Print what is known about a model's outputs, and their sizes for given inputs.

python examples/analyze_model.py examples/tiny_decoder.onnx batch=2 seq=4 past=6
"""

import sys

import onnx

import absint


def main(path: str, sizes: list[str]) -> None:
    binding = {name: int(size) for name, _, size in (text.partition("=") for text in sizes)}
    model = onnx.load(path, load_external_data=False)
    res = absint.analyze(model)  # a path works too; the model is loaded here for the names of its outputs

    for output in model.graph.output:
        shape = res.shapes[output.name]
        if shape.is_top:
            print(f"{output.name}: rank unknown")
            continue
        print(f"{output.name}: {shape}")
        for axis, dim in enumerate(shape):
            if dim.is_concrete:
                print(f"    axis {axis}: always {int(dim)}")
            elif dim.is_unknown:
                print(f"    axis {axis}: nothing is known")
            elif dim.free_symbols <= binding.keys():
                print(f"    axis {axis}: {dim} = {dim.evaluate(binding)}")
            else:
                print(f"    axis {axis}: {dim}, depends on {', '.join(sorted(dim.free_symbols))}")
        if all(not dim.is_unknown and dim.free_symbols <= binding.keys() for dim in shape):
            print(f"    in all: {shape.evaluate(binding)}")

    known = [shape for shape in res.shapes.values() if not shape.is_top]
    print(f"{len(res.shapes)} values, {len(known)} of known rank")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
