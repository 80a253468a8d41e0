"""LLMHive: an application that embeds Gristmill instead of talking to it over MCP."""
