"""The collector: asks brokers how things are, works out what is different, writes rows and tells browsers.

The core is pure (`meters`, `clearing`, `cluster_state`, `series_book`: answers and `now` in, rows, events and
points out); `collector` is the loop around it, `writing` the database, `leases` who may write.
"""
