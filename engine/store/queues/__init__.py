"""Consume queues and the dispatch that builds them."""
