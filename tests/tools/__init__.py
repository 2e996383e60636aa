"""The launcher of `make up`."""
