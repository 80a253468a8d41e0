"""Verbs that operate a gateway: serve, approve calls, look at records, sessions, skills and tokens."""
