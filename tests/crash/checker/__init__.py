"""The history checker: what the clients saw goes in, broken promises come out.

Pure: no sockets, no processes, no clock. It knows nothing of our broker and can judge any broker's history.
"""
