"""Typed request and response headers by concern; import the module that you need, nothing is re-exported."""
