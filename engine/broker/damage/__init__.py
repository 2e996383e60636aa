"""Damaged records of the log: repaired from another member, or skipped and remembered (docs/adr/0017)."""
