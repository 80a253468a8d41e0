"""Ways in which programs name and call tools without importing them as they are offered."""
