"""Administration of the broker, its store and its accounts."""
