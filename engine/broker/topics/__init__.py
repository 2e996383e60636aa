"""Topics: their configuration, who may create them, what their permissions allow."""
