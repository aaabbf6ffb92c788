"""The commands of the command line, one a file; each imports what it needs when it runs.

codes       exit codes
analysis    what the commands share: the options that change the analysis, and the analysis itself with its progress bar
sizes       sizes and ranges as they are written in arguments, as `batch=4` and `seq=1..2048`
"""
