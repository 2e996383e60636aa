"""POP consumption: what was given to whom until when, how it comes back, and popping in order."""
