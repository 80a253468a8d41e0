"""Names of loggers that libraries use: silenced on the command line, included in the log of the HTTP service."""

LOGGERS = ("mcp", "client", "httpx2", "httpcore2", "uvicorn", "uvicorn.error", "asyncio")
"""Silencing them loses nothing: `gristmill tools` shows the state of each server in one line and without secrets."""
