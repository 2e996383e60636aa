"""Rate limits of clients, topics and groups."""
