"""Warm jails, the template process they are forked from, and the interpreters that sessions keep."""
