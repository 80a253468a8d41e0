"""One turn of a conversation: its steps, its calls, where it is kept, and who follows it."""
