"""Questions to the person who uses an MCP client."""
