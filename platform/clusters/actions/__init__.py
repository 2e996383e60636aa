"""Every write: `do_<verb>_<noun>(…, actor, now)`.

Database-only writes are atomic with their audit row; what asks a broker writes an intent first and an outcome
after, outside of any transaction. Actions never import tasks.
"""
