"""Programs in TypeScript: read with tree-sitter, checked against the tools, and prepared for the guest that runs them."""
