"""Room 5: what outlives one execution: sessions with their files and values, and skills."""
