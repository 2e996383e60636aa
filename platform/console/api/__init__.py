"""REST about the console itself: sign-in, people, tokens, audit."""
