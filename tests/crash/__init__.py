"""Crash suite: real processes are killed, starved and damaged; a history checker says what that cost."""
