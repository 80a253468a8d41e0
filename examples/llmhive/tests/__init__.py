"""Tests of the embedding example."""
