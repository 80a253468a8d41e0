"""Jails on Linux, seen from the gateway: their pool, their processes, and one run in them. What runs inside is in `linux`."""
