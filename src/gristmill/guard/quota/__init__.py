"""Limits how many calls and bytes may be sent in a period, and shares the places for calls fairly between tenants."""
