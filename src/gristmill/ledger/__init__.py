"""The ledger: records of executions and calls, and what they cost."""
