"""Mirrors spark/sources."""
