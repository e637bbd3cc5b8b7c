"""Programs that measure this package beside others."""
