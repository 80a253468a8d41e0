"""Agent frameworks over our MCP server: each runs in an environment of its own, with a scripted model over the real protocol."""
