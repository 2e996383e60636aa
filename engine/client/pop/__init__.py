"""Consumers that pop."""
