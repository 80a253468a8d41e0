"""Servers that run as child processes and speak over their standard input and output."""
