"""The only way to name servers and brokers: `engine.client`, kept connections, one deadline.

Never called inside a database transaction (a broker that hangs would hold locks): `connections.ask` refuses.
Knows values, not rows of the database except through `addressing.py`.
"""
