"""The program of an execution: repaired, checked, fitted."""
