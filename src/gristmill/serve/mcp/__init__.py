"""The MCP door: two tools over stdio and streamable HTTP, for both eras of the protocol. It translates and decides nothing."""
