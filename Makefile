# make setup | train | test | bench | papers | lint | report | fuzz
# Needs Linux, git, make, Python >= 3.11 with pip and a Rust toolchain; everything else goes into .venv.

PYTHON ?= python3
# `make train MINUTES=10` trains for that long instead of for its preset's steps, and then a seed means nothing;
# `make fuzz MINUTES=10` spends it on each parser.
MINUTES ?=
SEED ?= 1

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_VERSION := 0.13.8
STAMPS := $(VENV)/.stamps
SHELL_SOURCES := $(shell find core/link kernel_bridge/shell -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
CORE := $(shell find core -name '*.rs' -o -name '*.toml' -o -name '*.pyi') Cargo.toml Cargo.lock

# The virtual environment is named, not activated, so that whoever calls make need not care.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
# Images made for one command set it: every program that a test starts would then compile torch, Ray and the rest anew.
unexport PYTHONDONTWRITEBYTECODE
# A clean clone is built once: what makes a second build shorter makes the first one, and its programs, slower.
export CARGO_INCREMENTAL ?= 0
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: setup train test test-core test-python bench papers lint report lock browser mahimahi kernel lab fuzz clean
.PHONY: built programs installed pytest pytest-shared pytest-real-time beside-real-time
.PHONY: lint-text lint-types lint-rust

setup: $(STAMPS)/project $(STAMPS)/core $(BIN)/mm-leo

$(STAMPS)/packages: requirements.lock
	@scripts/require.sh
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(UV) pip sync --quiet --require-hashes --allow-empty-requirements requirements.lock
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/core: $(STAMPS)/packages $(CORE) | $(STAMPS)/project
	$(BIN)/maturin develop --quiet --release --locked --uv -m core/py/Cargo.toml
	touch $@

# The shell that replays path traces on the machine's clock.
$(BIN)/mm-leo: $(STAMPS)/packages $(SHELL_SOURCES) | $(STAMPS)/core
	cargo build --quiet --release --locked -p leo-shell
	install "$${CARGO_TARGET_DIR:-target}/release/mm-leo" $@

$(STAMPS)/project: $(STAMPS)/packages pyproject.toml
	$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# Astraea on LEO paths, about four minutes of two cores, then the comparison with classic schemes. Steps are the budget,
# so that a seed gives the same policy, byte for byte, on a busy machine as on an idle one. The last line is the
# report's path.
train: setup
	out=runs/train-$$(date +%Y%m%d-%H%M%S); \
	$(BIN)/python train.py --agent astraea --config configs/agents/astraea-minutes.yaml --workers 2 \
	    $(if $(MINUTES),--minutes $(MINUTES)) --seed $(SEED) --out $$out; \
	$(BIN)/python evaluate.py leo-single leo-pair \
	    --schemes cubic,reno,astraea=$$out/policy --out $$out/evaluation

# Everything is built first, on all cores; then Python's tests that may share the machine; then those that drive real
# TCP in real time, which mostly wait: what only computes fills the gaps, and gives way to them at once.
test:
	@echo "building on $$(nproc) cores; each part's output comes when it is done"
	@$(MAKE) --no-print-directory --jobs=$$(nproc) --output-sync=target built
	@$(MAKE) --no-print-directory pytest-shared
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target pytest-real-time beside-real-time

# What takes seconds, and what the tests run. The core's own tests are built where they run: beside the real-time part.
built: lint-text programs

# SCHED_IDLE: only what no other program wants of the cores.
beside-real-time:
	@chrt --idle 0 $(MAKE) --no-print-directory test-core lint-types lint-rust

# Two lanes, side by side: what the package manager installs, and what cargo builds. Within each one after another: both
# work for one at a time.
programs: installed setup
	@scripts/kernel.sh
	@scripts/lab.sh

installed:
	@scripts/browser.sh
	@scripts/mahimahi.sh

test-core: $(STAMPS)/packages
	cargo test --quiet --locked --workspace --exclude leosim --lib --tests
	$(BIN)/python -m tests.documented_changes

test-python: setup browser mahimahi kernel lab
	@$(MAKE) --no-print-directory pytest

pytest: setup
	@$(MAKE) --no-print-directory pytest-shared
	@$(MAKE) --no-print-directory pytest-real-time

# See conftest.py. A worker more than there are cores: a test waits for the processes that it starts as often as it
# computes. With so many workers, a second thread of one would be in another's way.
pytest-shared: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --part shared --numprocesses $$(($$(nproc) + 1)) --dist loadgroup

pytest-real-time: setup
	$(BIN)/python -m pytest --part real-time

# The report's test wants a real browser; root gets it from the system's package manager.
browser:
	@scripts/browser.sh

# The tests behind real link shells want mahimahi and iperf3; root gets them the same way.
mahimahi:
	@scripts/mahimahi.sh

# The bridge between agents and the live kernel, with its eBPF programs.
kernel: setup
	@scripts/kernel.sh

# A stock Linux kernel in virtual time; root gets QEMU from the system's package manager.
lab: setup
	@scripts/lab.sh

# MINUTES for each parser; coverage-guided where atheris can be had (a wheel for this Python), else with hypothesis.
fuzz: setup
	$(UV) pip install --quiet 'atheris>=3,<4' || echo 'fuzz: atheris is not to be had here; using hypothesis' >&2
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),4)

bench: setup
	$(BIN)/python -m tests.bench

lint: lint-text lint-rust lint-types

lint-text: $(STAMPS)/packages
	cargo fmt --all --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Clippy works in the profile of the core's tests, and reads the loader of the eBPF programs where that could be built.
lint-rust: $(STAMPS)/packages
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
	if [ -x $(BIN)/leo-bridge ]; then \
	    cargo clippy --quiet --locked -p leo-bridge --features ebpf --all-targets -- -D warnings; fi

lint-types: setup
	$(BIN)/pyright

# All suites for the classic schemes, and for POLICY=runs/…/policy where one is given.
report: setup
	$(BIN)/python evaluate.py leo-single leo-pair --schemes cubic,reno$(if $(POLICY),$(comma)astraea=$(POLICY)) \
	    --out runs/report
comma := ,

# All suites of papers with their schemes and the twelve, and the report. What was run before is taken from the kept
# results, so that a second call, or one after it was interrupted, runs only what is new. QUICK=1: a look, in minutes.
# KEEP=1: its result becomes docs/results.
QUICK ?=
KEEP ?=
papers: setup
	out=runs/papers-$$(date +%Y%m%d-%H%M%S); \
	$(BIN)/python evaluate.py papers $(if $(QUICK),--quick) --out $$out; \
	$(if $(KEEP),$(BIN)/python -m evaluation.keep $$out)

# Resolve anew what pyproject.toml asks for. No address of a package registry goes into the lock.
lock:
	$(BIN)/python scripts/lock.py

clean:
	rm -rf $(VENV) target
