"""The broker: pure tables and policy (time passed in), handlers, and the tasks at the edge that drive it."""
