"""The hash index and searches by key."""
