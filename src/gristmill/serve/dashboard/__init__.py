"""Serves the pages at ``/dashboard``: a static bundle that uses the public HTTP API and has no other access to the runtime."""
