"""Opens what a configuration asks for."""
