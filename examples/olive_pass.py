"""Shape inference by absint as a pass of Olive: `python olive_pass.py MODEL OUT`. It needs `pip install olive-ai`.

In a workflow, name the class in `passes` and this file in a package config; see Olive's documentation of custom passes.
"""

import sys
from pathlib import Path

from olive.hardware.accelerator import AcceleratorSpec
from olive.model import ONNXModelHandler
from olive.model.utils import resolve_onnx_path
from olive.passes import Pass
from olive.passes.olive_pass import create_pass_from_dict
from olive.passes.pass_config import BasePassConfig, PassConfigParam

import absint


class AbsintShapeInference(Pass):
    """Write the type of every value into the model; weights go from file to file."""

    @classmethod
    def _default_config(cls, accelerator_spec: AcceleratorSpec) -> dict[str, PassConfigParam]:
        return {
            "dialect": PassConfigParam(type_=str, default_value="opaque", description="The form of dims."),
            "strict": PassConfigParam(type_=bool, default_value=True, description="Refuse a model that cannot run."),
        }

    def _run_for_config(
        self, model: ONNXModelHandler, config: type[BasePassConfig], output_model_path: str
    ) -> ONNXModelHandler:
        target = resolve_onnx_path(output_model_path, Path(model.model_path).name)
        result = absint.analyze(model.model_path, strict=config.strict)
        result.save_annotated(target, dialect=config.dialect, copy_weights=True)
        return ONNXModelHandler(target)


def main(source: str, target: str) -> None:
    run = create_pass_from_dict(AbsintShapeInference, disable_search=True)
    done = run.run(ONNXModelHandler(source), target)
    print(f"{done.model_path}: {len(done.load_model().graph.value_info)} types")


if __name__ == "__main__":
    main(*sys.argv[1:])
