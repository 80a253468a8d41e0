"""The MCP clients of this machine: where they keep their servers, and our own entry there. Ground."""
