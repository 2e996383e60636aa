"""Plans: what an operation will do, as sentences for people and steps for agents. Pure."""
