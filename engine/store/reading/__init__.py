"""Reads: pulls, single records, queries."""
