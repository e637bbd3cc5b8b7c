"""Loading encoders from SavedModels."""
