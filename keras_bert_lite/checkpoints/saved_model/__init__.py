"""SavedModels of encoders."""
