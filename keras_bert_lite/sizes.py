"""A check of the sizes in a configuration, before anything is built of them.

Every loader of checkpoints and the layers of `.keras` files call it, so that a broken
configuration cannot allocate huge amounts of memory.
"""

import os
from collections.abc import Mapping
from typing import Any

from keras_bert_lite.config import EncoderConfig

# Allow this factor above the size of the files. Near misses are left to the check
# of the tensors, whose message is more specific.
MOST_SURPLUS = 4
SMALLEST = 2  # bytes of a weight


def check_sizes(
    config: EncoderConfig, stored: int | None = None, outputs: Mapping[str, Any] = {}
) -> None:
    """Refuses sizes far beyond the stored weights, or beyond this machine.

    Args:
        config: The encoder's configuration.
        stored: The size of the weight files in bytes. `None` if it is unknown: the
            weights must then fit into the memory.
        outputs: The widths of the head's layers, by configuration field. Values
            that are not integers are left to the head's builder.

    Raises:
        ValueError: If a size requires more weights than that. The message names the
            fields.
    """
    if stored is None:
        room = _memory()
        what, room_shown = "the memory", f"a memory of {room} bytes"
    else:
        room = MOST_SURPLUS * stored
        what, room_shown = "the stored weights", f"files of {stored} bytes"
    heads = {
        f"`{name}`": count * config.hidden_dim
        for name, count in outputs.items()
        if isinstance(count, int)
    }
    for fields, count in {**_least_weights(config), **heads}.items():
        if count * SMALLEST > room:
            raise ValueError(
                f"{fields} must fit {what}. Received: sizes that require "
                f"{count} weights, and {room_shown}"
            )


def check_fits(fields: str, count: int) -> None:
    """Refuses a layer with more weights than this machine has memory for.

    Args:
        fields: The arguments that imply them, for the message.
        count: A lower bound on the number of weights.

    Raises:
        ValueError: If they do not fit.
    """
    if count * SMALLEST > _memory():
        raise ValueError(
            f"{fields} must fit the memory. Received: sizes that require {count} "
            f"weights, and a memory of {_memory()} bytes"
        )


def _memory() -> int:
    """Returns the size of this machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _least_weights(config: EncoderConfig) -> dict[str, int]:
    """Returns lower bounds on the number of weights, by the fields that imply them."""
    hidden, layers = config.hidden_dim, config.num_groups or config.num_layers
    width, relative = config.embedding_dim or hidden, config.relative_positions
    bias = config.relative_bias
    shared = (config.num_key_value_heads or config.num_heads) / config.num_heads
    dense = int(2 * (1 + shared) * hidden**2) + 2 * hidden * config.intermediate_dim
    kernel = config.convolution_size * hidden**2 // config.convolution_groups
    return {
        "`vocabulary_size` and `embedding_dim` or `hidden_dim`": (
            config.vocabulary_size * width
        ),
        "`max_sequence_length`": config.num_positions * width,
        "`num_segments`": config.num_segments * width,
        "`hidden_dim` and `intermediate_dim`": dense,
        "`num_layers` or `num_groups`": layers * dense,
        "`relative_positions`": 2 * relative.span * hidden if relative else 0,
        "`relative_bias`": bias.num_buckets * config.num_heads if bias else 0,
        "`num_task_types`": config.num_task_types * width,
        "`convolution_size`": kernel,
    }
