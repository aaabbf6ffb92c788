"""Public architectures, small and with random weights, as PyTorch's two exporters write them.

record       an architecture, and its inputs; exporting
structure    the digest of a model's structure
hugging_face models of transformers: a class, settings, inputs
tiny        the models that ship with the examples: a decoder and a detector
language    encoders and decoders of text, with and without caches (Hugging Face transformers)
pictures    classifiers, backbones, detectors, segmentation, depth
sounds      speech, audio and video
mixed       pictures with text, and inputs of other kinds
"""
