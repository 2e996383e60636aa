"""Every write about people, tokens and sessions: one transaction, its audit row in it, rights told on."""
