"""What the broker answers: a module per concern, a class that takes its collaborators and has `routes()`."""
