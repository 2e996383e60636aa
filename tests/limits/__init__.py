"""What the daemons may cost: memory, descriptors, time to start."""
