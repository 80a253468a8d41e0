"""Servers that are reached over HTTP: transports, connections and the checks on each request."""
