"""The doors: they translate between clients and the runtime and decide nothing."""
