"""The settings of a broker: what there is, what each may hold, what may change while it runs."""
