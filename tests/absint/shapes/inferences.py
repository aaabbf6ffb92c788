"""Functions in place of onnx's inference, for processes that import little."""

from __future__ import annotations

import os
import signal
import time

from onnx.onnx_pb import ModelProto


def hangs(_: bytes) -> str:
    time.sleep(60)
    return ""


def dies(_: bytes) -> str:
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)  # another thread may get the signal
    return ""


def dies_of_types(content: bytes) -> str:
    """It dies of a type of the value `a_u`."""
    model = ModelProto()
    model.ParseFromString(content)
    if any(info.name == "a_u" and info.HasField("type") for info in model.graph.value_info):
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(60)
    return ""
