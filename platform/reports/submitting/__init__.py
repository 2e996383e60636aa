"""Spark as a process of this host: what it needs, how it is called, where its files are, how it is ended.

Knows no rows but what is handed in, and decides nothing about runs: reports/actions does.
"""
