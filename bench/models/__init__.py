"""The example tasks and recorded ones, answered by a real model in three ways: ``python -m bench.models``."""
