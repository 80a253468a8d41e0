"""Servers that speak MCP: connections, messages, results and errors."""
