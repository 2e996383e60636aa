"""The reports on a command line: each takes arguments, reads stores, transforms, and writes tables.

    spark-submit spark/jobs/<report>.py --store PATH --output DIR …

`arguments` checks what was asked, `logs` reads, `results` writes, `progress` tells how far it is, and
`submission` is the one border where errors become a line and an exit code. What a report says is worked out
in `spark.transforms`, which knows none of this.
"""
