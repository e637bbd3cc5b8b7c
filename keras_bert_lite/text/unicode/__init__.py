"""Facts about Unicode code points that the tokenizers need, as tables."""
