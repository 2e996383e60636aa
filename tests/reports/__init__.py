"""Reports: schedules, runs by a real agent and a real spark-submit, tables, downloads, rights."""
