"""Brokers that are wrong on purpose: each module changes one function and runs the broker; checkers must see
it."""
