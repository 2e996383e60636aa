"""Connected producers and consumers: who they are, what they lock, which queues they get."""
