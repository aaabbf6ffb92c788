"""The commands of the command line. Only what loads another package is imported inside a function.

command     the class of commands, with short help; exit codes; messages and signs of life on standard error
analysis    what the commands share: the options that change the analysis, and the analysis itself with its progress bar
models      the models and sizes of a command line, and a command run for each model
sizes       sizes, ranges, profiles, shapes, values and axes as they are written in arguments

Some commands stand in the file of a sibling; `cli.HOMES` says in which.
"""
