"""Reads: the catalogue, times of schedules, where a run can go, runs, tables, masks on them."""
