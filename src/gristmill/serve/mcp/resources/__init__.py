"""Workspace files as MCP resources."""
