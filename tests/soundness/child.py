"""The process that onnxruntime runs in, since some kernels end it on empty tensors. Messages are pickles."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import onnxruntime as ort


def load(model: bytes, *, strict: bool = False) -> ort.InferenceSession:
    """A session in one thread, without optimisations unless the command asks for them."""
    options = ort.SessionOptions()
    if "--optimised" not in sys.argv:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    if strict:
        options.add_session_config_entry("session.strict_shape_type_inference", "1")
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def attempt(action: Callable[[], Any]) -> tuple[bool, Any]:
    """(True, result) or (False, message)."""
    try:
        return True, action()
    except Exception as error:
        return False, str(error)


def main() -> None:
    """Serve requests: bytes load a model, behind "strict" to see inference object; a dict of arrays runs it."""
    ort.set_default_logger_severity(4)
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    session: ort.InferenceSession | None = None
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        if isinstance(request, bytes):
            ok, loaded = attempt(lambda model=request: load(model))  # type: ignore[misc]
            session = loaded if ok else None
            reply = (True, [o.type for o in loaded.get_outputs()]) if ok else (False, loaded)
        elif isinstance(request, tuple):
            session = None
            ok, loaded = attempt(lambda model=request[1]: load(model, strict=True))  # type: ignore[misc]
            reply = (ok, None if ok else loaded)
        else:
            assert session is not None
            reply = attempt(lambda feeds=request, run=session.run: run(None, feeds))  # type: ignore[misc]
        pickle.dump(reply, replies, pickle.HIGHEST_PROTOCOL)
        replies.flush()


if __name__ == "__main__":
    main()
