"""Room 1: connections to tool servers. A server is an MCP server, an OpenAPI service or a module of Python functions."""
