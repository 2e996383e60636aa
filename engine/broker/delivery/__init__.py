"""Messages delivered later: delay levels, timers, retries and dead letters."""
