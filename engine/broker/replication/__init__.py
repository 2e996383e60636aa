"""Master, slaves, and how one becomes the other (docs/adr/0008)."""
