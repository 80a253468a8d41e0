"""The same task three ways, in tokens: direct calls, search then calls, and a program. What each model sees is what it pays for."""
