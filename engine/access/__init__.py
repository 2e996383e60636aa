"""Who may do what: accounts, policies, the table of rules, and the gate that asks them. No sockets."""
