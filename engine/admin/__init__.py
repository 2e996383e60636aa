"""The operators' command line: mqadmin's commands on our own client. `python -m engine.admin --help`."""
