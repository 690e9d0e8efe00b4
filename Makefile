# make setup | train | test | bench | papers | lint | report | fuzz | wheels
# Needs Linux, git, make, Python >= 3.11 with pip and a Rust toolchain; everything else goes into .venv.

PYTHON ?= python3
# `make train MINUTES=10` trains for that long instead of the preset's steps; the seed then no longer fixes the policy.
# `make fuzz MINUTES=10` fuzzes each parser for that long.
MINUTES ?=
SEED ?= 1
# `make clients CLEANRL=FOLDER` also runs the scripts of a clone of CleanRL.
CLEANRL ?=

# `make setup TORCH=cpu` takes PyTorch's CPU build, 5 GB less, from PyTorch's own index, which uv knows. The default index has
# no such wheel for x86-64, so the lock has no hash of it.
TORCH ?=

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
UV_VERSION := 0.13.8
STAMPS := $(VENV)/.stamps
SHELL_SOURCES := $(shell find core/link kernel_bridge/shell -name '*.rs' -o -name help.txt -o -name Cargo.toml) Cargo.toml Cargo.lock
APP_SOURCES := $(shell find core/link core/workload kernel_bridge/workloads -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
QUIC := $(shell find kernel_bridge/quic -name quiche -prune -o -name '*.rs' -print -o -name 'Cargo.*' -print)
QUICHE := $(shell find kernel_bridge/quic/quiche -name '*.rs' -o -name 'Cargo.*') kernel_bridge/quic/Cargo.toml $(wildcard kernel_bridge/quic/*.rs kernel_bridge/quic/src/*.rs)
CORE := $(shell find core -name '*.rs' -o -name '*.toml' -o -name '*.pyi') Cargo.toml Cargo.lock

# Name the virtual environment instead of activating it: callers of make need not activate it either.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
# Some container images set it; every program that a test starts would then recompile torch, Ray and all other modules.
unexport PYTHONDONTWRITEBYTECODE
# A clean clone is built once, and incremental compilation slows down the first build and its programs.
export CARGO_INCREMENTAL ?= 0
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: setup train test test-core test-python bench papers lint report wheels clients lock browser mahimahi kernel lab quiche
.PHONY: docs leobench fuzz clean
.PHONY: built bytecode core-tests programs installed
.PHONY: pytest pytest-shared pytest-real-time beside-pytest checks-of-cargo
.PHONY: lint-text lint-types lint-rust

setup: $(STAMPS)/project $(STAMPS)/core $(BIN)/mm-leo $(BIN)/leo-app

$(STAMPS)/packages: requirements.lock
	@scripts/require.sh
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	locked=requirements.lock; \
	if [ -n "$(TORCH)" ]; then \
	    locked=$(VENV)/requirements.lock; \
	    awk '/^[^ ]/ { skip = /^(torch==|triton==|nvidia-|cuda-)/ } !skip' requirements.lock >$$locked; \
	fi; \
	$(UV) pip sync --quiet --require-hashes --allow-empty-requirements $$locked
	$(if $(TORCH),$(UV) pip install --quiet --torch-backend $(TORCH) "$$(grep -o '^torch==[^ ]*' requirements.lock)")
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/core: $(STAMPS)/packages $(CORE) | $(STAMPS)/project
	$(BIN)/maturin develop --quiet --release --locked --uv -m core/py/Cargo.toml
	touch $@

# mm-leo replays path traces in real time.
$(BIN)/mm-leo: $(STAMPS)/packages $(SHELL_SOURCES) | $(STAMPS)/core
	scripts/static.sh cargo build --quiet --release --locked -p leo-shell
	install "$$(scripts/static.sh --output)/mm-leo" $@

# leo-app runs workloads over real TCP and UDP.
$(BIN)/leo-app: $(STAMPS)/packages $(APP_SOURCES) | $(STAMPS)/core
	scripts/static.sh cargo build --quiet --release --locked -p leo-app
	install "$$(scripts/static.sh --output)/leo-app" $@

$(STAMPS)/project: $(STAMPS)/packages pyproject.toml
	$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# Train Orbit in a minute or two, a quarter of the shipped policy's training, and compare it with classic schemes. The budget
# is in steps, so a seed gives the same policy, byte for byte, on a busy machine. Prints the report's path last.
train: setup
	out=runs/train-$$(date +%Y%m%d-%H%M%S); \
	$(BIN)/leogym train --agent orbit --config configs/agents/orbit.yaml --workers 2 \
	    $(if $(MINUTES),--minutes $(MINUTES),--steps 1500000 --set held_out_episodes=0) --seed $(SEED) --out $$out; \
	$(BIN)/leogym evaluate leo-single leo-pair \
	    --schemes cubic,reno,orbit=$$out/policy --out $$out/evaluation

# Build everything on all cores, then run the Python tests that may share the machine, then the real-time ones. The remaining
# checks run at the lowest priority, and end before the real-time tests begin: beside a compiler, even at that priority, the
# machine stands still for tens of ms, and tests that need the clock skip. Two jobs more than cores: one for pytest, one for
# pyright, and a core each for cargo.
test:
	@scripts/require.sh
	@echo "building on $$(nproc) cores; each part's output comes when it is done"
	@$(MAKE) --no-print-directory --jobs=$$(nproc) --output-sync=target built
	@$(MAKE) --no-print-directory --jobs=$$(($$(nproc) + 2)) --output-sync=none pytest-shared beside-pytest
	@$(MAKE) --no-print-directory pytest-real-time

built: lint-text programs bytecode core-tests

# Compile the core's own tests beside the release builds, whose link-time optimization uses one core. Cargo locks only the
# folder of a profile.
core-tests: $(STAMPS)/packages
	@nice -n 10 cargo test --quiet --locked --workspace --exclude leosim --lib --tests --no-run

# Import what the tests import, beside the last builds: in a new environment each pytest worker would compile it all.
bytecode: $(STAMPS)/project $(STAMPS)/core
	@nice -n 10 $(BIN)/python -m pytest --part shared --collect-only -qq >$(STAMPS)/collected \
	    || { cat $(STAMPS)/collected; exit 1; }

# Use the cores when no test does. With SCHED_IDLE here, a test's browser once stood still for half a minute.
beside-pytest:
	@nice -n 19 $(MAKE) --no-print-directory lint-types checks-of-cargo

# One after another: both take a lock.
checks-of-cargo:
	@$(MAKE) --no-print-directory test-core
	@$(MAKE) --no-print-directory lint-rust

# Install packages and build with cargo side by side. Each is sequential within: both take a lock.
programs: installed setup $(BIN)/leo-quinn $(BIN)/leo-s2n
	@scripts/kernel.sh
	@scripts/lab.sh

installed:
	@scripts/browser.sh
	@scripts/mahimahi.sh

test-core: $(STAMPS)/core
	cargo test --quiet --locked --workspace --exclude leosim --lib --tests
	$(BIN)/python -m tests.documented_changes

test-python: setup browser mahimahi kernel lab
	@$(MAKE) --no-print-directory pytest

pytest: setup
	@$(MAKE) --no-print-directory pytest-shared
	@$(MAKE) --no-print-directory pytest-real-time

# LeoBench's results and page, in docs/leobench/results. What this build would judge the same again is kept, so an
# interrupted one goes on. TIER=lab judges ENTRIES on the lab's kernel.
TIER := simulator
ENTRIES := $(if $(filter simulator,$(TIER)),all,cubic reno bbr vegas vivace astraea orbit) found=docs/leobench/found
leobench: setup
	nice -n 10 $(BIN)/leogym leobench judge $(ENTRIES) --backend $(TIER) --keep --out docs/leobench/results
	$(BIN)/leogym leobench board docs/leobench/results
	$(BIN)/python -m evaluation.leobench.standings docs/leobench/results

SLOWEST := --durations=40 --durations-min=4  # where the time goes

# See conftest.py. One worker more than cores, as tests often wait for the processes that they start, and one thread per
# worker. Some tests call make: as a user does, without the jobs of this one.
pytest-shared: setup
	env -u MAKEFLAGS OMP_NUM_THREADS=1 $(BIN)/python -m pytest --part shared --numprocesses $$(($$(nproc) + 1)) --dist loadgroup $(SLOWEST)

# Other libraries, each in an environment of its own, against our environments: docs/use-with. CLEANRL=FOLDER names a
# clone of CleanRL, whose three scripts then run for 60,000 steps each.
clients: setup
	OMP_NUM_THREADS=1 CLEANRL=$(abspath $(CLEANRL)) $(BIN)/python -m pytest -m clients tests/clients

pytest-real-time: setup
	$(BIN)/python -m pytest --part real-time $(SLOWEST)

# The report's test needs a real browser; as root, this installs it with the system's package manager.
browser:
	@scripts/browser.sh

# The tests with real link shells need mahimahi and iperf3; as root, this installs them.
mahimahi:
	@scripts/mahimahi.sh

# The bridge between agents and the live kernel, with its eBPF programs.
kernel: setup
	@scripts/kernel.sh

# A stock Linux kernel in virtual time; as root, this installs QEMU.
lab: setup $(BIN)/leo-quinn $(BIN)/leo-s2n
	@scripts/lab.sh

# The QUIC stacks quinn and s2n-quic for flows of the lab; a workspace of its own with a lock file of its own.
BUILD_QUIC := CARGO_TARGET_DIR=target/quic scripts/static.sh cargo

$(BIN)/leo-quinn $(BIN)/leo-s2n &: $(QUIC) | $(STAMPS)/core
	$(BUILD_QUIC) build --quiet --release --locked --manifest-path kernel_bridge/quic/Cargo.toml
	install -t $(BIN) "$$(CARGO_TARGET_DIR=target/quic scripts/static.sh --output)"/{leo-quinn,leo-s2n}

# The QUIC stack quiche for flows of the lab. It compiles BoringSSL for minutes, so no other target builds it.
quiche: $(BIN)/leo-quiche
BUILD_QUICHE := CARGO_TARGET_DIR=target/quiche scripts/static.sh cargo

$(BIN)/leo-quiche: $(QUICHE) | $(STAMPS)/core
	@scripts/quiche.sh
	$(BUILD_QUICHE) build --quiet --release --locked --manifest-path kernel_bridge/quic/quiche/Cargo.toml
	install -t $(BIN) "$$(CARGO_TARGET_DIR=target/quiche scripts/static.sh --output)/leo-quiche"

# MINUTES for each parser; coverage-guided where atheris has a wheel for this Python, otherwise with hypothesis.
fuzz: setup
	$(UV) pip install --quiet 'atheris>=3,<4' || echo 'fuzz: atheris is not available here; using hypothesis' >&2
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),4)

bench: setup
	$(BIN)/python -m tests.bench

lint: lint-text lint-rust lint-types

lint-text: $(STAMPS)/packages
	if cargo fmt --version >/dev/null 2>&1; then cargo fmt --all --check; else echo "skipped: rustfmt is not installed"; fi
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Clippy uses the profile of the core's tests, and checks the eBPF loader where it was built. The QUIC stacks' C libraries
# take long to compile, so there it uses the profile that has compiled them.
lint-rust: $(STAMPS)/packages
	if ! cargo clippy --version >/dev/null 2>&1; then echo "skipped: clippy is not installed"; exit; fi; \
	cargo clippy --quiet --locked --workspace --all-targets -- -D warnings; \
	if [ -x $(BIN)/leo-bridge ]; then \
	    cargo clippy --quiet --locked -p leo-bridge --features ebpf --all-targets -- -D warnings; fi; \
	if [ -x $(BIN)/leo-quinn ]; then \
	    $(BUILD_QUIC) clippy --quiet --release --locked --manifest-path kernel_bridge/quic/Cargo.toml -- -D warnings; fi; \
	if [ -x $(BIN)/leo-quiche ]; then \
	    $(BUILD_QUICHE) clippy --quiet --release --locked --manifest-path kernel_bridge/quic/quiche/Cargo.toml -- -D warnings; fi

lint-types: setup
	$(BIN)/pyright

# leo-single and leo-pair with the classic schemes, and with POLICY=runs/…/policy if given.
report: setup
	$(BIN)/leogym evaluate leo-single leo-pair --schemes cubic,reno$(if $(POLICY),$(comma)astraea=$(POLICY)) \
	    --out runs/report
comma := ,

# The study of papers' claims: all their suites, and the report with the verdicts. The cache keeps results, so a second
# call, also after an interruption, runs only what is new. QUICK=1: a short version in minutes. KEEP=1: write
# studies/papers/results and the tables of the papers' pages.
QUICK ?=
KEEP ?=
papers: setup
	out=runs/papers-$$(date +%Y%m%d-%H%M%S); \
	$(BIN)/leogym papers $(if $(QUICK),--quick) --out $$out; \
	$(if $(KEEP),$(BIN)/leogym papers keep $$out && $(BIN)/leogym papers tables)

# All pages and the API reference as a site. Warnings are errors.
SITE ?= target/site
docs: setup
	$(BIN)/sphinx-build --quiet --fresh-env --fail-on-warning --keep-going --conf-dir docs . $(SITE)

# Wheels of leogym, leosim, mm-leo, leo-app and leo-bridge for every Python >= 3.11, in dist/; see docs/install.md. Maturin compiles
# as setup and kernel do, so that cargo reuses what is built. leo-bridge needs what kernel needs; without, it is left out.
DIST ?= dist
wheels: setup
	rm -f $(DIST)/{leogym,leosim,mm_leo,leo_app,leo_bridge}-*.whl
	$(BIN)/hatchling build --target wheel --directory $(DIST)
	$(BIN)/maturin build --quiet --release --locked --interpreter $(BIN)/python -m core/py/Cargo.toml --out $(DIST)
	for program in shell workloads; do \
	    scripts/static.sh $(BIN)/maturin build --quiet --release --locked -m kernel_bridge/$$program/Cargo.toml --out $(DIST); done
	scripts/kernel.sh scripts/static.sh $(BIN)/maturin build --quiet --release --locked \
	    -m kernel_bridge/bridge/Cargo.toml --out $(DIST)

# Resolve the dependencies of pyproject.toml again. The lock holds no registry addresses.
lock:
	$(BIN)/python scripts/lock.py

clean:
	rm -rf $(VENV) target
