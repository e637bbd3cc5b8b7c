"""A table of tokens that is read at both ends of a model, on several devices (JAX).

Its gradient has two parts, of the rows that are looked up and of the scores. XLA would
sum each over the devices. Sums that are written out, and of the same type, it joins:
the devices exchange the table once.
"""

import functools

import jax
import jax.numpy as jnp
import keras
from jax import lax
from jax.sharding import PartitionSpec as Spec

from keras_bert_lite.layers.split import Split, split_of


def split_rows(table: keras.Variable, batch: int) -> Split | None:
    """Returns the split of a batch over several devices, or `None`.

    It is `None` too where the rows of the table are split, which XLA arranges.
    """
    split = split_of(table, batch, table.shape[-1])
    if split is None or split.rows is None or split.mesh.shape[split.rows] == 1:
        return None
    first, last = keras.distribution.distribution().get_variable_layout(table).axes
    return split if first is None and last == split.columns else None


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def look_up(split: Split, size: int, table, ids):
    """Looks up ids in a table of `size` rows: (V, E) and (B, S) -> (B, S, E)."""
    return jnp.take(table, ids, axis=0)


def _look_up(split, size, table, ids):
    return look_up(split, size, table, ids), ids


def _looked_up(split, size, ids, upstream):
    def part(ids, upstream):
        zeros = jnp.zeros((size, upstream.shape[-1]), upstream.dtype)
        return zeros.at[ids].add(upstream)

    rows = Spec(split.rows)
    return _summed(part, split, (rows, Spec(split.rows, None, split.columns)))(
        ids, upstream
    ), None


look_up.defvjp(_look_up, _looked_up)


@jax.custom_vjp
def scores(x, table):
    """Scores vectors against a table: (B, P, E) and (V, E) -> (B, P, V)."""
    return jnp.matmul(x, table.astype(x.dtype).T)


def _scores(x, table):
    return scores(x, table), (x, table)


def _scored(stored, upstream):
    x, table = stored
    to_x = jnp.matmul(upstream, table.astype(x.dtype))
    # A sum of the other's type, or the two are not joined.
    summed = {"preferred_element_type": table.dtype}
    return to_x, jnp.einsum("bpv,bpe->ve", upstream, x, **summed)


scores.defvjp(_scores, _scored)


def _summed(part, split: Split, cuts):
    """Returns a function whose results on each device's rows are summed over them."""
    return jax.shard_map(
        lambda *parts: lax.psum(part(*parts), split.rows),
        mesh=split.mesh,
        in_specs=cuts,
        out_specs=Spec(None, split.columns),
        check_vma=False,
    )
