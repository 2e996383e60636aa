"""Bringing files to the disk."""
