"""The MCP door: two tools over stdio and streamable HTTP, in both eras of the protocol. It translates and never decides."""
