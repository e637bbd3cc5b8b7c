"""The tasks, one file each: the builder, the answer and the row that names them."""
