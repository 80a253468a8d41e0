"""One run behind any wall: frames, calls, output, limits and the verdict."""
