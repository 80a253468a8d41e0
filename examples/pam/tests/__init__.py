"""Tests of the travel assistant."""
