"""The verbs of pretraining and distillation; see `verbs.py`."""

from typing import Any, Literal

from keras_bert_lite_command.memory import keep_memory

Files = list[str] | str
Sentences = Literal["lines", "split"]


def vocabulary(
    text: Files,
    *,
    directory: str,
    size: int = 8192,
    cased: bool = False,
    show_progress: bool = True,
) -> None:
    """Train a WordPiece vocabulary on text.

    Example: keras-bert-lite vocabulary books/*.txt --directory pieces --size 8192

    Args:
        text: one or more UTF-8 text files, .gz or .xz if compressed
        directory: for the result
        size: maximum number of pieces
        cased: keep case and accents
        show_progress: show a progress bar
    """
    options = dict(locals())
    import keras_bert_lite as kbl

    print(f"{directory}: {kbl.pretraining.write_vocabulary(**options)} pieces")
    _next("pretraining-data TEXT... --directory data --preprocessor", directory)


def pretraining_data(
    text: Files,
    *,
    directory: str,
    preprocessor: str,
    workers: int | None = None,
    show_progress: bool = True,
    sequence_length: int | None = None,
    objective: Literal["next_sentence", "sentence_order", "none"] = "next_sentence",
    sentences: Sentences = "lines",
    short_share: float = 0.1,
    pack: bool = False,
    repeats: int = 1,
    masking: dict[str, Any] | None = None,
    chunk_bytes: int = 4194304,
    seed: int = 0,
) -> None:
    """Convert text to pretraining data.

    What was interrupted goes on when the same command is run again.

    Example: keras-bert-lite pretraining-data books/*.txt --directory data \\
        --preprocessor pieces

    Args:
        text: one or more UTF-8 text files, .gz or .xz if compressed
        directory: for the result
        preprocessor: a name, a directory, or hf://owner/name
        workers: threads; by default all cores
        show_progress: show a progress bar
        sequence_length: tokens of a row; by default 128
        objective: objective besides masked words; long pairs are cut
        sentences: one sentence a line, or prose
        short_share: share of rows with a random length
        pack: pack several texts into a row
        repeats: number of times each document is used
        masking: mask once when writing, with these options, as '{"mask_share": 0.9}'
        chunk_bytes: bytes of text of a shard
        seed: of all random choices
    """
    options = dict(locals())
    import keras_bert_lite as kbl

    done = kbl.pretraining.write_pretraining_data(**options)
    counts = (f"{n} {name if n != 1 else name[:-1]}" for name, n in done.items())
    print(f"{directory}: {', '.join(counts)}")
    start = "--directory run --config bert_mini_uncased --steps 100000"
    _next("pretrain", directory, start)


def pretrain(
    data: str,
    *,
    directory: str,
    steps: int,
    encoder_config: str | None = None,
    model: str | None = None,
    replaced_tokens: bool = False,
    masking: dict[str, Any] | None = None,
    batch_size: int = 64,
    learning_rate: float = 1e-4,
    warmup: float = 0.01,
    cooldown: float | None = None,
    weight_decay: float = 0.01,
    accumulate: int = 1,
    optimizer: Literal["adamw", "lamb"] = "adamw",
    save_every: int = 1000,
    validation: str | None = None,
    precision: Literal["float32", "mixed_float16", "mixed_bfloat16"] | None = None,
    gradient_checkpointing: bool = False,
    tensorboard: str | None = None,
    seed: int = 0,
    deterministic: bool = False,
    verbose: int = 1,
) -> None:
    """Pretrain an encoder, or resume.

    What was interrupted goes on when the same command is run again.

    Example: keras-bert-lite pretrain data --directory run \\
        --config bert_mini_uncased --steps 100000

    Args:
        data: directory written by pretraining-data
        directory: of the run: its states and model
        steps: batches in all, a multiple of save_every
        encoder_config: a published name, or a JSON file of EncoderConfig's fields;
            --config takes these too
        model: start from the weights of a checkpoint: a directory, hf://owner/name
        replaced_tokens: train like ELECTRA, by replaced tokens
        masking: how words are masked, as '{"rate": 0.3}'; by default as the data say
        batch_size: rows of a step
        learning_rate: the peak
        warmup: share of the steps for warm-up
        cooldown: share of the steps, at the end, in which the rate falls
        weight_decay: of the optimizer
        accumulate: steps of an update
        optimizer: lamb is for large batches
        save_every: steps between saves
        validation: directory of held-out data
        precision: of weights and computation
        gradient_checkpointing: less memory, more time
        tensorboard: log directory
        seed: of weights, order and masks
        deterministic: use only deterministic TensorFlow operations
        verbose: 1 shows a progress bar, 2 a line a save, 0 nothing
    """
    options = dict(locals())
    keep_memory()
    import keras_bert_lite as kbl

    _trained(kbl.pretraining.pretrain_encoder(**options))


def distil(
    text: Files,
    *,
    directory: str,
    steps: int,
    teacher: str,
    preprocessor: str,
    encoder_config: str | None = None,
    model: str | None = None,
    sequence_length: int = 128,
    sentences: Sentences = "lines",
    pairs: bool = False,
    layer_pairs: list[tuple[int, int]] | None = None,
    replaced: float = 0.0,
    batch_size: int = 64,
    learning_rate: float = 5e-4,
    warmup: float = 0.05,
    cooldown: float | None = None,
    weight_decay: float = 0.01,
    accumulate: int = 1,
    save_every: int = 1000,
    validation: Files | None = None,
    dtype: Literal["float32", "float16", "bfloat16"] = "float32",
    dropout: float | None = None,
    seed: int = 0,
    deterministic: bool = False,
    verbose: int = 1,
) -> None:
    """Train a small encoder to match a large one's vectors.

    What was interrupted goes on when the same command is run again.

    Example: keras-bert-lite distil books/*.txt --directory run \\
        --teacher hf://sentence-transformers/all-MiniLM-L6-v2 --preprocessor pieces \\
        --config bert_mini_uncased --steps 20000

    Args:
        text: one or more UTF-8 text files, .gz or .xz if compressed
        directory: of the run: its states and model
        steps: batches in all, a multiple of save_every
        teacher: a name, a directory, hf://owner/name or keras-hub://preset
        preprocessor: a directory with the student's tokenizer
        encoder_config: a published name, or a JSON file of EncoderConfig's fields;
            --config takes these too
        model: start from the weights of a checkpoint: a directory, hf://owner/name
        sequence_length: tokens of a text
        sentences: one sentence a line, or prose
        pairs: also train on rows of two texts
        layer_pairs: layers of student and teacher that must match too, as "[[2, 4]]"
        replaced: largest share of a sentence's words that are replaced by random words
            of the teacher's vocabulary
        batch_size: texts of a step
        learning_rate: the peak
        warmup: share of the steps for warm-up
        cooldown: share of the steps, at the end, in which the rate falls
        weight_decay: of the optimizer
        accumulate: steps of an update
        save_every: steps between saves
        validation: held-out text files
        dtype: of the saved weights
        dropout: rate in the saved configuration
        seed: of weights, order and replaced words
        deterministic: use only deterministic TensorFlow operations
        verbose: 1 shows a progress bar, 2 a line a save, 0 nothing
    """
    options = dict(locals())
    keep_memory()
    import keras_bert_lite as kbl

    _trained(kbl.distillation.distill_encoder(**options))


def _trained(path: Any) -> None:
    print(f"{path}: the model, for load_encoder, load_model and transformers")
    _next("fit text_classification train.tsv --directory tuned --encoder", path)


def _next(*words: Any) -> None:
    print("next: keras-bert-lite", *words)
