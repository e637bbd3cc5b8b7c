"""Export of SavedModels that take strings, with the files that servers need."""
