"""Provisioning: plans, steps, the driver of processes, operations with real agents."""
