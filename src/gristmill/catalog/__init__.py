"""Room 2, the catalog: which tools exist, their types, their generated modules and the search over them."""
