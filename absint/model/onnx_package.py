"""The onnx package without what its `__init__` imports: numpy, ml_dtypes and all modules of its own.

Its messages (`onnx.onnx_pb`) and its C++ extension need none of that.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import module_from_spec
from types import ModuleType


class _Deferred(ModuleType):
    """A package that runs its `__init__` when it is asked for anything but the submodules that are imported."""

    def __getattr__(self, name: str) -> object:
        package: ModuleType = self
        package.__class__ = ModuleType  # from here on like any other, which its `__init__` finds as such
        loader = package.__loader__
        assert isinstance(loader, SourceFileLoader)
        try:
            loader.exec_module(package)
        except BaseException:
            sys.modules.pop(package.__name__, None)
            raise
        return getattr(package, name)


def defer_onnx() -> None:
    """Have `import onnx` do nothing in this process until something in it is asked for.

    Submodules can be imported before. This is for a process of the command line, where one thread imports.
    """
    spec = None if "onnx" in sys.modules else PathFinder.find_spec("onnx")
    if spec is not None and isinstance(spec.loader, SourceFileLoader) and spec.submodule_search_locations is not None:
        package = module_from_spec(spec)
        package.__class__ = _Deferred
        sys.modules["onnx"] = package
