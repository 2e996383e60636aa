"""Transactional messages: half messages, decisions, check-backs."""
