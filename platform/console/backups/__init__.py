"""Backup and restore of the database, and of the key if asked: one file, the same for both databases."""
