"""Limits on connections, requests and bodies of the HTTP door."""
