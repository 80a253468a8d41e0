"""The files of a session. Hostile code writes them, so every access is checked."""
