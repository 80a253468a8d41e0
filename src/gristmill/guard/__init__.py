"""Room 3, the guard: decides what is allowed, checks programs before they run, and masks personal data and secrets."""
