"""The data pipeline on Spark: commit logs read as DataFrames, and the reports made of them.

`sources` bring messages in, `transforms` are pure functions from DataFrame to DataFrame, `jobs` put both
together on a command line. Knows `engine.protocol`, `engine.client` and `engine.errors`; never Django, never
`engine.store` or `engine.broker`: Spark only ever reads a store's files, beside the broker that writes them.
"""
