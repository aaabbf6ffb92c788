"""The commands of the command line, one a file. Only what loads another package is imported inside a function.

codes       exit codes
defaults    the note on --defaults, where an answer hangs on it
analysis    what the commands share: the options that change the analysis, and the analysis itself with its progress bar
progress    signs of life on standard error
models      the models and sizes of a command line, and a command run for each model
sizes       sizes, ranges, profiles and shapes as they are written in arguments
places      values and axes as they are written in arguments, as `logits[1]` and `input_ids[0]=batch`
messages    messages on standard error
feeds       `check --feeds`, which reads arrays
"""
