"""Repairs of programs that do not parse: each file mends one habit of the models that write them."""
