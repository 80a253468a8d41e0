"""Servers that speak MCP: connections, tool listings, results and errors."""
