"""Libraries that log by themselves: silent on the command line, heard in the service's log."""

LOGGERS = ("mcp", "client", "httpx2", "httpcore2", "uvicorn", "uvicorn.error", "asyncio")
"""What they have to say about servers is told by `gristmill tools`, in one line and without secrets."""
