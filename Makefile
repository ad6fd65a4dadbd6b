# Each target sets up what it needs by itself. Another Python: make test PYTHON=python3.13
PYTHON ?= python3
VENV ?= .venv
BENCH_VENV ?= .venv-bench
JAX_VENV ?= .venv-jax
PEER := torch==2.13.0

VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
ifeq ($(VERSION),)
$(error '$(PYTHON)' does not run: name a Python of version 3.11, 3.12 or 3.13, as in make test PYTHON=python3.12)
endif
READY := $(VENV)/.ready-$(VERSION)
DOCS_READY := $(VENV)/.docs-$(VERSION)
BENCH_READY := $(BENCH_VENV)/.ready-$(VERSION)
JAX_READY := $(JAX_VENV)/.ready-$(VERSION)

# A folder made by another version of Python is made anew; one of the same version is kept.
make_venv = grep -qs '^version = $(VERSION)\.' $(1)/pyvenv.cfg || $(PYTHON) -m venv --clear $(1)

.PHONY: help demo test bench lint docs dist clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## run the demonstration
	$(VENV)/bin/python examples/demo.py

test: $(READY) ## run the tests
	$(VENV)/bin/python -m pytest -q -n auto --dist worksteal

lint: $(READY) ## check style and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy

docs: $(DOCS_READY) ## build the documentation into build/docs
	$(VENV)/bin/python docs/generate.py
	$(VENV)/bin/python -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "open build/docs/index.html"

dist: $(READY) ## build the wheel and the source archive into dist/
	rm -rf dist
	$(VENV)/bin/python -m build --no-isolation --outdir dist

bench: $(BENCH_READY) $(JAX_READY) ## compare speed with PyTorch's and others', side by side; import time and sizes
	for each in eager train data export script compile native; do JAX_PYTHON=$(JAX_VENV)/bin/python nice -n 5 $(BENCH_VENV)/bin/python bench/$$each.py || exit 1; done
	$(BENCH_VENV)/bin/python bench/readme_table.py
	$(BENCH_VENV)/bin/python bench/footprint.py

clean: ## remove what the targets made
	rm -rf $(VENV) $(BENCH_VENV) $(JAX_VENV) build dist demo-output *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	$(call make_venv,$(VENV))
	$(VENV)/bin/python -m pip install --quiet --editable '.[dev,onnx,native]'
	@touch $@

$(DOCS_READY): $(READY)
	$(VENV)/bin/python -m pip install --quiet --editable '.[docs]'
	@touch $@

$(BENCH_READY): pyproject.toml
	$(call make_venv,$(BENCH_VENV))
	$(BENCH_VENV)/bin/python -m pip install --quiet '$(PEER)' onnxscript --editable '.[onnx,native]'
	@touch $@

$(JAX_READY):
	$(call make_venv,$(JAX_VENV))
	$(JAX_VENV)/bin/python -m pip install --quiet jax
	@touch $@
