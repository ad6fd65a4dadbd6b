# Each target sets up what it needs by itself. Another Python: make test PYTHON=python3.13
PYTHON ?= python3
VENV ?= .venv
BENCH_VENV ?= .venv-bench
JAX_VENV ?= .venv-jax
RECORD_VENV ?= .venv-record
LIBRARIES_VENV ?= .venv-libraries
CUDA_PYTHON ?= $(PYTHON)
PEER := torch==2.13.0

VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
ifeq ($(VERSION),)
$(error '$(PYTHON)' does not run: name a Python of version 3.11, 3.12 or 3.13, as in make test PYTHON=python3.12)
endif
READY := $(VENV)/.ready-$(VERSION)
DOCS_READY := $(VENV)/.docs-$(VERSION)
BENCH_READY := $(BENCH_VENV)/.ready-$(VERSION)
JAX_READY := $(JAX_VENV)/.ready-$(VERSION)
RECORD_READY := $(RECORD_VENV)/.ready-$(VERSION)
LIBRARIES_READY := $(LIBRARIES_VENV)/.ready-$(VERSION)

# An environment of another Python version is made again; one of the same version is kept.
make_venv = grep -qs '^version = $(VERSION)\.' $(1)/pyvenv.cfg || $(PYTHON) -m venv --clear $(1)

.PHONY: help demo test test-cuda test-libraries format lint coverage generate docs record bench bench-scaling dist clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## run the demonstration
	$(VENV)/bin/python examples/demo.py

test: $(READY) ## run the tests
	$(VENV)/bin/python -m pytest -q -n auto --dist worksteal

test-cuda: ## run the tests that need a GPU, with this machine's Python (CUDA_PYTHON), which has CuPy and Triton
	PYTHONPATH=. $(CUDA_PYTHON) -m pytest -q tests/cuda

test-libraries: $(LIBRARIES_READY) ## run programs over popular libraries, without PyTorch; write docs/libraries.md
	$(LIBRARIES_VENV)/bin/python tools/try_libraries.py --table $(ONLY)

format: $(READY) ## format the sources and fix what the linter can fix
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

lint: $(READY) ## check style, format and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

coverage: $(READY) ## run the tests with line coverage; report in build/coverage
	$(VENV)/bin/python -m pytest -q -n auto --dist worksteal --cov=rushlight --cov-report=term:skip-covered --cov-report=html:build/coverage
	@echo "open build/coverage/index.html"

generate: $(READY) ## write the files derived from the op table: manifest, stubs, documentation pages
	$(VENV)/bin/python -m rushlight.ops.document
	$(VENV)/bin/python tools/generate_stubs.py
	$(VENV)/bin/python docs/generate.py

docs: $(DOCS_READY) generate ## build the documentation into build/docs
	$(VENV)/bin/python -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "open build/docs/index.html"

dist: $(READY) ## build the wheel and the source archive into dist/
	rm -rf dist
	$(VENV)/bin/python -m build --no-isolation --outdir dist

record: $(RECORD_READY) ## record the expected results of the tests anew, with PyTorch; ONLY="optim views" records these
	$(RECORD_VENV)/bin/python tests/record/run.py $(ONLY)

bench: $(BENCH_READY) $(JAX_READY) ## measure speed, import time and size against PyTorch and JAX; write the README's table
	for each in eager train generate data export script compile native; do JAX_PYTHON=$(JAX_VENV)/bin/python nice -n 5 $(BENCH_VENV)/bin/python bench/$$each.py || exit 1; done
	$(BENCH_VENV)/bin/python bench/readme_table.py
	$(BENCH_VENV)/bin/python bench/footprint.py

bench-scaling: $(BENCH_READY) ## measure how programs and larger models speed up with threads, against PyTorch (about an hour)
	$(BENCH_VENV)/bin/python bench/scaling.py
	$(BENCH_VENV)/bin/python bench/scaling.py --large

clean: ## remove what the targets made
	rm -rf $(VENV) $(BENCH_VENV) $(JAX_VENV) $(RECORD_VENV) $(LIBRARIES_VENV) build dist demo-output *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage*

$(READY): pyproject.toml
	$(call make_venv,$(VENV))
	$(VENV)/bin/python -m pip install --quiet --editable '.[dev,onnx,native,mpi]'
	@touch $@

$(DOCS_READY): $(READY)
	$(VENV)/bin/python -m pip install --quiet --editable '.[docs]'
	@touch $@

$(BENCH_READY): pyproject.toml
	$(call make_venv,$(BENCH_VENV))
	$(BENCH_VENV)/bin/python -m pip install --quiet '$(PEER)' onnxscript --editable '.[onnx,native]'
	@touch $@

$(RECORD_READY): pyproject.toml
	$(call make_venv,$(RECORD_VENV))
	$(RECORD_VENV)/bin/python -m pip install --quiet '$(PEER)' mpmath --editable '.[dev,onnx,native]'
	@touch $@

$(LIBRARIES_READY): pyproject.toml tests/libraries/requirements.txt tests/libraries/requirements-others.txt
	$(call make_venv,$(LIBRARIES_VENV))
	$(LIBRARIES_VENV)/bin/python -m pip install --quiet --requirement tests/libraries/requirements-others.txt --editable '.[onnx,native]'
	$(LIBRARIES_VENV)/bin/python -m pip install --quiet --no-deps --requirement tests/libraries/requirements.txt
	@touch $@

$(JAX_READY):
	$(call make_venv,$(JAX_VENV))
	$(JAX_VENV)/bin/python -m pip install --quiet jax
	@touch $@
