"""The hall: the only package that knows all rooms."""
