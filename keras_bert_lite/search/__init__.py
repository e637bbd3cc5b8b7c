"""Search: the nearest texts of a query, by words or by vectors."""
