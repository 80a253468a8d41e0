"""Records what happened: audit, tokens, retention."""
