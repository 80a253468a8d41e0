"""Measurements of Gristmill, its peers and the floors under both. Not collected by pytest; see README.md here."""
