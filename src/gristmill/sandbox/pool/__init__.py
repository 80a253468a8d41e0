"""The interpreters that sessions keep, behind any wall."""
