"""How far groups have consumed: committed offsets, progress, resets."""
