"""The broker process: wiring, start and stop."""
