"""The launcher of a confined tool server, and the profile it reads."""
