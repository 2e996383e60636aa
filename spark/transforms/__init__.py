"""What the reports are made of: pure functions from DataFrames to DataFrames.

One noun per module. Nothing here reads a file, a clock or a command line, and nothing writes: `now`, ranges
and limits are arguments, so every figure can be worked out by hand and tested on a handful of rows. Messages
come in with the columns of `spark.schemas`; every table keeps the clusters apart, so that many can be looked
at in one go.
"""
