"""The same task three ways, in tokens: direct calls, search then calls, and a program. A model pays for all it sees."""
