# make setup | train | test | bench | lint | report
# Needs Linux, git, make, Python >= 3.11 with pip and a Rust toolchain; everything else goes into .venv.

PYTHON ?= python3
# Minutes that `make train` trains for.
MINUTES ?= 4
SEED ?= 1

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_VERSION := 0.13.8
STAMPS := $(VENV)/.stamps
CORE := $(shell find core -name '*.rs' -o -name '*.toml' -o -name '*.pyi') Cargo.toml Cargo.lock

# The virtual environment is named, not activated, so that whoever calls make need not care.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: setup train test test-core test-python bench lint report lock browser clean

setup: $(STAMPS)/project $(STAMPS)/core

$(STAMPS)/packages: requirements.lock
	@scripts/require.sh
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(UV) pip sync --quiet --require-hashes --allow-empty-requirements requirements.lock
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/core: $(STAMPS)/packages $(CORE)
	$(BIN)/maturin develop --quiet --release --locked --uv -m core/py/Cargo.toml
	touch $@

$(STAMPS)/project: $(STAMPS)/packages pyproject.toml
	$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# A few minutes of Astraea on LEO paths, then the comparison with classic schemes. The last line is the report's path.
train: setup
	out=runs/train-$$(date +%Y%m%d-%H%M%S); \
	$(BIN)/python train.py --agent astraea --config configs/agents/astraea-minutes.yaml \
	    --minutes $(MINUTES) --seed $(SEED) --out $$out; \
	$(BIN)/python evaluate.py leo-single leo-pair \
	    --schemes cubic,reno,astraea=$$out/policy --out $$out/evaluation

test: test-core test-python lint

test-core: setup
	cargo test --quiet --locked --workspace --exclude leosim --lib --tests

test-python: setup browser
	$(BIN)/python -m pytest

# The report's test wants a real browser; root gets it from the system's package manager.
browser:
	@scripts/browser.sh

bench: setup
	$(BIN)/python -m tests.bench

lint: setup
	cargo fmt --all --check
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

# All suites for the classic schemes, and for POLICY=runs/…/policy where one is given.
report: setup
	$(BIN)/python evaluate.py leo-single leo-pair --schemes cubic,reno$(if $(POLICY),$(comma)astraea=$(POLICY)) \
	    --out runs/report
comma := ,

# Resolve anew what pyproject.toml asks for. No address of a package registry goes into the lock.
lock:
	$(BIN)/python scripts/lock.py

clean:
	rm -rf $(VENV) target
