"""Attacks on the daemons by peers that mean harm: what they may hold, what they may delay."""
