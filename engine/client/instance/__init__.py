"""What producers, consumers and admins share: connections, routes, heartbeats."""
