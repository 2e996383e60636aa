"""What every app may import: who may do what, audit, errors, events, sealing. Knows no app."""
