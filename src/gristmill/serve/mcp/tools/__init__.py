"""The tools, prompt and instructions that MCP clients see."""
