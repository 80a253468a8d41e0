"""Runs as MCP tasks, in both eras of the protocol."""
