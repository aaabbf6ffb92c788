"""Optimisation profiles: the least, best and greatest shape of every input, for engines that are built for ranges.

profile     the answer, as an object, text and JSON, and as trtexec, polygraphy, onnxruntime, torch_tensorrt and
            OpenVINO read it
making      from the corners that a caller gives: all sizes between them proved legal, or the largest legal part around
            the best
"""
