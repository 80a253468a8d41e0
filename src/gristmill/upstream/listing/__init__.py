"""Tool listings of servers: read page by page, repaired, filtered, and kept for the next start."""
