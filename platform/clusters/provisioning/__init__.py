"""From desired state to running processes: plans (pure), steps (leased rows), the driver of processes."""
