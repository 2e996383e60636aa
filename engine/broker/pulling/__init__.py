"""Pulls: filters, long polls, reads from slaves, queries."""
