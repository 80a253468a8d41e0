"""The doors: translate, never decide."""
