"""One run inside a jail: frames, calls, output, limits and the verdict."""
