"""Tool definitions that are pinned when first seen, and the scan of definitions for signs of poisoning."""
