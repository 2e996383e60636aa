"""Opening a store: recovery, damage, repair."""
