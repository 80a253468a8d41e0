"""The transports of the MCP door: stdio and streamable HTTP."""
