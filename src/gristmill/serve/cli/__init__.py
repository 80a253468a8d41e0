"""The command line door: `app.py` builds it, `verbs/` holds one file per verb, `terminal/` reads and prints."""
