"""The name server: which broker serves which topic. Its KV file is its only state."""
