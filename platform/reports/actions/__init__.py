"""Every write of reports: atomic, with its audit row, told after the commit. Workers' turns are here too."""
