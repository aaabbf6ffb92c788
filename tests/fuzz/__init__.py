"""Fuzzing: mutated models, files and arguments, in processes with limits of time and memory. No input may do more than
give an answer or one clear line.

`python -m tests.fuzz --seconds N --seed S` runs cases; each follows from the seed and its number alone.

bases        what is mutated: examples, adversarial models, onnx's node tests
wire         messages as fields: deleted, repeated, spliced, their numbers stretched
models       models as graphs: renamed, retyped, rewired, cut, made cyclic; attributes, opsets, dims, constants, files
texts        relations, dim texts and arguments of the command line
case         a case: a model and a command
executing    one case run, and what is wrong with what it says
worker       the process that runs cases
shrinking    a case made smaller while it fails in the same way
hunting      the parent: workers, deadlines, failures
"""
