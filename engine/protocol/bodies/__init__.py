"""Typed JSON bodies by concern; import the module that you need, nothing is re-exported."""
