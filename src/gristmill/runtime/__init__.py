"""The hall: the only place that knows the rooms."""
