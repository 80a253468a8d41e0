"""Configuration files of the MCP clients of this machine: where they keep their servers, and Gristmill's entry there. Ground."""
