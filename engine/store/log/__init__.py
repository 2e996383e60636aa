"""The commit log: segments, appends, front and end."""
