#!/usr/bin/env bash
# Builds the sdist and the wheel from it, and runs the Python of the README
# and the command with the installed wheel, away from the sources.
set -euo pipefail
python=${1:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/.venv/bin/python" -m pip --disable-pip-version-check install --quiet \
    --constraint "$root/constraints.txt" build
"$root/.venv/bin/python" -m build --outdir "$work/dist" "$root"
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip --disable-pip-version-check install --quiet \
    --constraint "$root/constraints.txt" "$work"/dist/*.whl
cd "$work"
"$work/venv/bin/python" "$root/tests/docs/run_page.py" "$root/README.md"
"$work/venv/bin/keras-bert-lite" --version
installed=$(echo "$work"/venv/lib/python*/site-packages/keras_bert_lite)
test -f "$installed/py.typed"
test -f "$installed/serving/check/server_ops.json"
test -f "$installed/visualization/attention_page.html"
echo "sdist and wheel: built, installed and run"
