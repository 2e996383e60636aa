"""Message traces: writing and reading them."""
