"""What the Makefile calls: setting up and running the product. Never imported by it."""
