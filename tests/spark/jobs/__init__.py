"""Mirrors spark/jobs."""
