"""POP consumption: checkpoints of popped messages, their revival, and popping in order."""
