"""Sends: their checks, the append, the answer."""
