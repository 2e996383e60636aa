"""Counters, rates, metrics and runtime information."""
