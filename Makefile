# Commands of this workspace. Every build uses the dev profile, which is optimised, so everything is built once.

SHELL := /bin/bash
# Where rustup puts cargo, for shells that have not read its environment.
export PATH := $(PATH):$(HOME)/.cargo/bin
TARGET := $(or $(CARGO_TARGET_DIR),target)
export PLINTH ?= $(TARGET)/debug/plinth
# Other projects' dataset readers, where `make loaders` has put them.
export LOADERS_PYTHON ?= $(abspath $(wildcard $(TARGET)/loaders/bin/python))
export GSPLAT_EXAMPLES ?= $(abspath $(wildcard $(TARGET)/loaders/gsplat/examples))

.DEFAULT_GOAL := help
.PHONY: help setup build demo serve test lint loaders crash fuzz bench fidelity compare gallery generate

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install ffmpeg, a Vulkan driver and a compiler where missing (Debian, Ubuntu)
	@scripts/setup.sh

build: setup
	cargo build --workspace --bins

demo: build ## render a sample model to demo-output/
	@mkdir -p demo-output
	$(PLINTH) render fixtures/models/flight_helmet.glb -o demo-output/helmet.mp4 --all --quality share --length 4
	@echo
	@echo "The video is $(CURDIR)/demo-output/helmet.mp4"

serve: build ## serve the HTTP interface on this machine (ARGS="--listen 0.0.0.0:8080")
	$(PLINTH) serve $(ARGS)

test: setup ## run all tests
	@if cargo nextest --version >/dev/null 2>&1; then set -x; cargo nextest run --workspace; \
	else set -x; cargo test --workspace; fi
	@$(or $(LOADERS_PYTHON),python3) -c 'import pycolmap' 2>/dev/null || \
		echo "pycolmap is not installed: datasets were not read by COLMAP's own reader (make loaders)"
	@test -n "$(GSPLAT_EXAMPLES)" || echo "gsplat is not installed: datasets were not read by its reader (make loaders)"

lint: setup ## check format, lints, layers, and licences where cargo-deny is installed
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	@scripts/layers.sh
	@if cargo deny --version >/dev/null 2>&1; then set -x; cargo deny check; \
	else echo "cargo-deny is not installed: licences and advisories are not checked"; fi

loaders: setup ## install pycolmap and gsplat's reader (with torch, some GB), with which tests then read a dataset
	@scripts/loaders.sh $(TARGET)/loaders

crash: setup ## kill servers and workers at random moments (ROUNDS=20, ORDERS=200, SEED=a number)
	CRASH_ROUNDS=$(or $(ROUNDS),20) CRASH_ORDERS=$(or $(ORDERS),200) $(addprefix CRASH_SEED=,$(SEED)) \
		cargo test --workspace --test it -- --nocapture --test-threads 1 serve::crash

fuzz: setup ## feed damaged files to the readers (SECONDS_EACH=60, TARGETS="load_glb obj_zip")
	@fuzz/fuzz.sh

bench: build ## measure milliseconds per frame, and what effects cost (MODELS="a.glb b.glb", TIERS="share standard")
	@bench/bench.sh $(MODELS)
	@bench/effects.sh $(firstword $(MODELS))

fidelity: build ## draw reference scenes for scoring (SCENES=folder, OUT=folder)
	@python3 bench/fidelity.py $(if $(SCENES),"$(SCENES)" "$(or $(OUT),bench-output/fidelity)",--help)

compare: setup ## draw models with three.js, too, and show where they differ (MODELS="folder …", ENV=a.hdr)
	cargo build -p plinth -p plinth-render -p plinth-scene --bin plinth --example still --example radiance
	@scripts/compare/compare.sh $(TARGET)/compare $(MODELS) $(if $(ENV),--env "$(ENV)") \
		--out "$(or $(OUT),bench-output/compare)" --plinth "$(abspath $(PLINTH))" --examples "$(TARGET)/debug/examples" $(if $(ONLY),--only "$(ONLY)")

gallery: build ## draw every setting at several values to docs/gallery/ (ONLY="bloomStrength dofStrength", MODEL=a.glb)
	@python3 -B scripts/gallery/gallery.py $(MODEL) $(if $(ONLY),--only $(ONLY))

generate: build ## rewrite the tables in README.md and docs/operations.md
	@scripts/generate.sh
