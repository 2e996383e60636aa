"""Reads: rows and values for views, tasks and plans. They change nothing and ask no broker."""
