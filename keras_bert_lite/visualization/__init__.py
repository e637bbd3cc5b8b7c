"""What a model's answer comes from: `explain` in explain.py."""
