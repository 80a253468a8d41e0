"""The searches for personal data and secrets in text, one file for each kind."""
