"""Agents that programs ask: other models behind one tool, each with a budget."""
