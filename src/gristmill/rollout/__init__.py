"""Compares ways of working on real traffic: who gets which arm, what came of it, and when growth stops or goes back."""
