"""The numbers that `kbl.finetune` decides by."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The numbers that `kbl.finetune` decides by.

    Those that are a task's are in its row, `tasks.task.FineTuning`, or, for thresholds,
    in its scorer; those of a linear model are in `training.linear_model`. Unless noted,
    numbers of rows are of those to train on, without the held-out ones.
    """

    # Rows held out of those given: a share, but from `held_out_least` (or a quarter of
    # few rows) to `held_out_most`: more say little, and each evaluation reads them.
    held_out_share: float = 0.1
    held_out_least: int = 200
    held_out_most: int = 2000

    # Tokens of a row: the shortest of these lengths that holds a share of the rows. The
    # longest of few rows says little about rows to come, so these are given twice that.
    lengths: tuple[int, ...] = (128, 192, 256, 384, 512)
    lengths_cover: float = 0.99
    lengths_few: int = 200

    # Training. The peak rate is that of an encoder as wide as MiniLM; it falls with the
    # square of the width, between two bounds.
    rate: float = 1e-4
    rate_width: int = 384
    rate_lowest: float = 1e-5
    rate_highest: float = 5e-4
    warmup: float = 0.1
    layer_decay: float = 0.9
    layer_decay_from: int = 12  # blocks; lower ones learn more slowly
    batch: int = 32
    small_batch: int = 16
    small_batch_below: int = 500
    epochs: tuple[tuple[int, int], ...] = ((100, 10), (500, 6), (2000, 3), (10_000, 2))
    evaluations: int = 2  # an epoch
    evaluations_most: int = 8
    first_share: float = 0.5  # of the steps, of the rows that a task begins with

    # A linear model starts the head. Its logits are divided by `softness`; ten lost
    # what it knew (`benchmarks.recipe_choices`). It is kept, unless fine-tuning wins by
    # a standard error, with few pairs, or few compared rows with a label or choices.
    softness: float = 3.0
    keep_linear_pairs: int = 100
    keep_linear_compared: int = 1000

    # Weights: training ends after so many evaluations that are worse than the best by
    # a standard error. Below `second_fit` rows, the model is trained again on all.
    patience: int = 4
    second_fit: int = 1000

    # Held-out targets from which on probabilities are calibrated.
    calibrated_from: int = 50

    # Time, if it is limited: the share that one reading of the held-out rows may take,
    # and the fewest of them; the share that the linear model's rows may take, and the
    # fewest of them; the share of a training step that reading its rows takes, the
    # share for the first of two fits, evaluations beside those during training, and
    # seconds for saving the model.
    evaluation_share: float = 0.02
    held_out_in_time: int = 100
    linear_share: float = 0.25
    linear_rows: int = 100
    reading: float = 1 / 3
    first_fit: float = 0.6
    evaluations_beside: int = 4
    export_seconds: float = 6.0


RECIPE = Recipe()
