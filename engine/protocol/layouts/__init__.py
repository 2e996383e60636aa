"""Every file layout but the record's, and the HA frames: bytes to values and back.

One module per kind of file, each with its layout drawn at the top. Nothing in this package opens a file: the
store and Spark's readers do, and both read the same bytes with the same functions.
"""
