"""What happened: the record of executions and calls, and what they cost."""
