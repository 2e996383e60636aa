"""Bytes to values and back. Sans-I/O: nothing here knows sockets, files, clocks or loops."""
