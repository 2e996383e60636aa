"""A broker group: its state, its members, elections, promotions and changes of role."""
