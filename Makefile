# Commands of this workspace. All builds except `make release` use the dev profile, in which the crates that draw are optimised,
# so that everything is built only once.

SHELL := /bin/bash
# The folder of rustup's cargo, for shells that have not loaded its environment.
export PATH := $(PATH):$(HOME)/.cargo/bin
TARGET := $(or $(CARGO_TARGET_DIR),target)
export PLINTH ?= $(TARGET)/debug/plinth
# Dataset readers of other projects, installed by `make loaders`.
export LOADERS_PYTHON ?= $(abspath $(wildcard $(TARGET)/loaders/bin/python))
export GSPLAT_EXAMPLES ?= $(abspath $(wildcard $(TARGET)/loaders/gsplat/examples))

.DEFAULT_GOAL := help
.PHONY: help setup build release demo serve test quick lint loaders crash faults fuzz mutants bench fidelity compare gallery generate dist image bare chart platforms

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what building, rendering, tests and lints need, if missing (Debian, Ubuntu)
	@scripts/setup.sh test lint

build:
	@scripts/setup.sh render
	cargo build --workspace --bins

release: ## build the program for users, with link-time optimisation and without symbols: target/release/plinth
	@scripts/setup.sh
	cargo build --release --package plinth

demo: build ## render a sample model to demo-output/ (installs ffmpeg, a Vulkan driver and a compiler if missing)
	@mkdir -p demo-output
	scripts/tools.sh render $(PLINTH) render fixtures/models/flight_helmet.glb -o demo-output/helmet.mp4 --all --quality share --length 4
	@echo
	@echo "The video is $(CURDIR)/demo-output/helmet.mp4"
	@found=$$(scripts/find.sh ffmpeg); [ "$$found" -ef "$$(command -v ffmpeg)" ] || \
		echo "The first ffmpeg on PATH lacks encoders. Before you call plinth yourself: export PLINTH_FFMPEG=$$found"

serve: build ## run the service on this machine (ARGS="--listen 0.0.0.0:8080 --public-url http://HOST:8080")
	scripts/tools.sh render $(PLINTH) serve $(ARGS)

test: ## run all tests and list the failures (also installs PostgreSQL, and Python with numpy and Pillow)
	@scripts/setup.sh test
	@scripts/tools.sh test scripts/test.sh

quick: ## build the tests of one crate and run the fastest, about 20 seconds (CRATE=plinth-db, TESTS=a part of their names)
	@scripts/tools.sh test scripts/quick.sh "$(CRATE)" $(if $(TESTS),"$(TESTS)")

lint: ## check format, lints, layers, calls of the system, paths and versions in documents, docs of crate roots, types of scripts if Node is installed, and licences if cargo-deny is
	@scripts/setup.sh lint
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	@scripts/layers.sh
	@scripts/system_calls.sh
	@scripts/paths.sh
	@scripts/root_docs.sh
	@scripts/versions.sh
	@scripts/types.sh
	@if cargo deny --version >/dev/null 2>&1; then set -x; cargo deny check; \
	else echo "not checked: licences and advisories, because cargo-deny is not installed (cargo install cargo-deny)"; fi

loaders: ## install pycolmap and gsplat's reader (with torch, some GB), which tests then use to read a dataset
	@scripts/setup.sh venv
	@scripts/loaders.sh $(TARGET)/loaders

crash: ## kill servers and workers at random moments (ROUNDS=20, ORDERS=200, SEED=a number)
	@scripts/setup.sh test
	CRASH_ROUNDS=$(or $(ROUNDS),20) CRASH_ORDERS=$(or $(ORDERS),200) $(addprefix CRASH_SEED=,$(SEED)) \
		scripts/tools.sh test cargo test --workspace --test program -- --nocapture --test-threads 1 serve::crash

faults: ## cut, stop and mislead a fleet of hosts on this machine (root; STRIKES=40, HOURS=a number, SEED=a number, ORDERS=60, at least 20)
	@scripts/setup.sh test faults
	cargo test --workspace --test program --no-run
	FAULT_STRIKES=$(or $(STRIKES),40) $(addprefix FAULT_HOURS=,$(HOURS)) $(addprefix FAULT_SEED=,$(SEED)) $(addprefix FLEET_ORDERS=,$(ORDERS)) \
		scripts/network.sh scripts/tools.sh test cargo test --workspace --test program -- --nocapture --ignored --test-threads 1 serve::fleet

fuzz: ## feed damaged files and requests to the readers (SECONDS_EACH=60, TARGETS="load_glb obj_zip")
	@scripts/setup.sh
	@fuzz/fuzz.sh

mutants: ## change the code of money, leases, access and links, to see whether a test fails (ARGS="-p plinth-spec")
	@scripts/setup.sh test
	@scripts/tools.sh test scripts/mutants.sh $(ARGS)

bench: build ## measure time per frame, the cost of effects, and how costs grow (MODELS="a.glb b.glb", TIERS="share standard")
	@bench/bench.sh $(MODELS)
	@bench/effects.sh $(firstword $(MODELS))
	@scripts/setup.sh venv
	@bench/scaling.sh

fidelity: build ## render reference scenes for comparison with a path tracer (SCENES=folder, OUT=folder)
	@scripts/setup.sh python
	@"$$(scripts/find.sh python)" bench/fidelity.py $(if $(SCENES),"$(SCENES)" "$(or $(OUT),bench-output/fidelity)",--help)

compare: setup ## draw models with three.js and Plinth and show the differences (MODELS="folder …", ENV=a.hdr)
	cargo build --workspace --bin plinth --example still --example radiance
	@scripts/compare/compare.sh $(TARGET)/compare $(MODELS) $(if $(ENV),--env "$(ENV)") \
		--out "$(or $(OUT),bench-output/compare)" --plinth "$(abspath $(PLINTH))" --examples "$(TARGET)/debug/examples" $(if $(ONLY),--only "$(ONLY)")

gallery: build ## render every setting with several values to docs/gallery/ (ONLY="bloomStrength dofStrength", MODEL=a.glb)
	@scripts/setup.sh python
	@scripts/tools.sh render "$$(scripts/find.sh python)" -B scripts/gallery/gallery.py $(MODEL) $(if $(ONLY),--only $(ONLY))

dist: ## make the packages in dist/: archive, Debian package, Python wheels, SBOMs, checksums (PROGRAM=one that is built, FOR=arm64)
	@scripts/setup.sh dist $(FOR)
	scripts/dist.sh $(if $(PROGRAM),--program "$(PROGRAM)") $(if $(filter arm64,$(FOR)),--target aarch64-unknown-linux-gnu)

image: ## make the OCI image in dist/ from its Debian package, without a registry (root, mmdebstrap, buildah)
	scripts/image.sh

bare: ## try the packages of dist/ on new root file systems (root, mmdebstrap, runc, umoci, skopeo; PARTS="deb wheel image")
	scripts/bare.sh $(PARTS)

chart: ## test the Helm chart (Python with venv, node with npm)
	deploy/helm/test.sh

platforms: ## check that the program compiles for macOS and Windows (TARGETS="aarch64-apple-darwin x86_64-pc-windows-gnu")
	@scripts/setup.sh lint
	scripts/platforms.sh $(TARGETS)

generate: build ## rewrite the generated tables in docs/settings.md, docs/operations.md and docs/api.md
	@scripts/generate.sh
