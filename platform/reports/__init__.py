"""Runs, schedules and results of the Spark reports."""
