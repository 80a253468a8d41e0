"""Values of rooms that doors name: a door imports them from here, and never from a room."""
