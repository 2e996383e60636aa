"""Consumers: rebalance, pulls, listeners, offsets."""
