"""Consuming each message once: a listener that remembers."""
