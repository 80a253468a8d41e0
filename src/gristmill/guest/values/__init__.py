"""What values of tools look like to a program: results, arguments, pictures and tables."""
