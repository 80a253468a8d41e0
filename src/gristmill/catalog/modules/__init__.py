"""The typed Python and TypeScript modules that are generated for tools."""
