"""Tables on disk: one way to save them, one way to read them back."""
