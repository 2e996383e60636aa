"""Requests of administrators about the broker itself, its store and its accounts."""
