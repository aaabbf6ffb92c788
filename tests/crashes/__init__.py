"""Every input that ever broke something, in its smallest form; `test_crashes.py` replays them all.

made       those that a few lines of code make: models, with the commands that failed
files      those that are bytes: `NAME.onnx`, for every command
`python -m tests.crashes` replays them in this process, with at most 2 GB of memory.
"""
