"""Fuzz suite: bytes that no honest client would send, at the real daemons."""
