"""Programs as models write them, and what must happen to each: ``python -m bench.shapes``."""
