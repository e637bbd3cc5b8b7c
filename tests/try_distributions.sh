#!/usr/bin/env bash
# Builds the sdist and the wheel from it, twice, to the same bytes, and with the wheel
# installed, away from the sources, runs the Python of the README and the command and
# checks the types of a user's program.
set -euo pipefail
python=${1:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/.venv-lint/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$tools/python" "$root/.ci/build_distributions.py" "$work/dist"
(umask 077 && "$tools/python" "$root/.ci/build_distributions.py" "$work/again")
for file in "$work"/dist/*; do
    cmp "$file" "$work/again/${file##*/}"
done
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip --disable-pip-version-check install --quiet \
    --no-compile --constraint "$root/constraints.txt" "$work"/dist/*.whl
cd "$work"
"$work/venv/bin/python" "$root/tests/docs/run_page.py" "$root/README.md"
"$work/venv/bin/keras-bert-lite" --version
installed=$(echo "$work"/venv/lib/python*/site-packages/keras_bert_lite)
test -f "$installed/serving/check/server_ops.json"
test -f "$installed/visualization/attention_page.html"
cp "$root/tests/typed_program.py" .
"$tools/mypy" --python-executable venv/bin/python --warn-unused-ignores \
    --ignore-missing-imports typed_program.py
"$tools/pyright" --pythonpath venv/bin/python typed_program.py
echo "sdist and wheel: built twice to the same bytes, installed, run and type-checked"
