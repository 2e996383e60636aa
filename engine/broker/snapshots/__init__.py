"""The collector's snapshot: what changed since a version."""
