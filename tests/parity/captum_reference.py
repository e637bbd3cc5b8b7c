"""captum's integrated gradients of transformers' models."""

import torch
from captum.attr import LayerIntegratedGradients

from tests.visualization import cases


def attributions(model, ids, segments, real, of, steps):
    """Returns what each real token adds to an output, and the error.

    Args:
        model: A model of transformers.
        ids, segments, real: Of one row; `real` says which tokens are replaced by
            padding in the baseline, as captum's tutorial on BERT has it: all but the
            special ones.
        of: Takes the output `(K,)` from the model's outputs for K rows.
        steps: The number of points.
    """
    ids, segments = torch.tensor([ids]), torch.tensor([segments])
    padding = torch.full_like(ids, model.config.pad_token_id)
    baseline = torch.where(torch.tensor([real]), padding, ids)

    def score(ids, segments):
        given = {"attention_mask": torch.ones_like(ids)}
        if getattr(model.config, "type_vocab_size", 1) > 1:
            given["token_type_ids"] = segments
        return of(model(ids, **given))

    table = model.get_input_embeddings()
    found, error = LayerIntegratedGradients(score, table).attribute(
        ids,
        baseline,
        additional_forward_args=(segments,),
        n_steps=steps,
        method="gausslegendre",
        return_convergence_delta=True,
    )
    values = found.detach().sum(-1)[0][torch.tensor(real)].numpy()
    return values, abs(error.item())


def output(model, text, target, span):
    """Returns the function that takes a case's output."""
    if target in ("start", "end", "span"):
        start = cases.column(text, span[0])
        end = start + len(text[-1][slice(*span)].split()) - 1
        parts = {"start": ("start",), "end": ("end",), "span": ("start", "end")}
        columns = {"start": start, "end": end}
        return lambda outputs: sum(
            outputs[f"{x}_logits"][:, columns[x]] for x in parts[target]
        )
    labels = list(model.config.id2label.values())
    i = 0 if target is None else labels.index(target)
    if span is None:
        return lambda outputs: outputs["logits"][:, i]
    return lambda outputs: outputs["logits"][:, cases.column(text, span[0]), i]
