"""Token accounts: what executions, calls and searches cost in tokens."""
