"""Brokers that die of kill -9 at one exact step, once: what the random kills rarely hit."""
