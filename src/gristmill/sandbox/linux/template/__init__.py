"""The template process that forks sealed children, and the keeper that launches it."""
