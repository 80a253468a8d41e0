"""The sections of the configuration, one file each: names, defaults and units, with one sentence for each value."""
