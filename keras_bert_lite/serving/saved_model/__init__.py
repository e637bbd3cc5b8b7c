"""SavedModels that take raw strings, and what a server needs beside them."""
