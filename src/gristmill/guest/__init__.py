"""The code that runs inside the jail: standard library only, imports nothing else of Gristmill, is never imported by the host."""
