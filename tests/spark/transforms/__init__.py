"""Mirrors spark/transforms."""
