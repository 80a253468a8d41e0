"""Room 4: runs programs in a sandbox that keeps them away from this host."""
