"""The house rules that no linter checks. Fast: part of `make check`."""
