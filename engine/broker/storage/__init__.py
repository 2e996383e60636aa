"""The store's upkeep: flush, dispatch, retention, disk space."""
