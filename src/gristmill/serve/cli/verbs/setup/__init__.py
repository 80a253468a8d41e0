"""Verbs that set up Gristmill: servers, clients, logins, packages, and checks."""
