"""Labels in three schemes."""

BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B"]
BIOES = ["O", *(f"{p}-{t}" for t in ("PER", "LOC") for p in "BIES")]
BARE = ["O", "B", "I"]
