# Everything a newcomer or a build machine needs, one word each. `make` alone lists the words.

DIST := target/dist

.DEFAULT_GOAL := help
.PHONY: help run release test soak simulate fuzz bench fmt lint docs deny shell

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

run: ## Build the release binary and serve a demo on 127.0.0.1:8080
	cargo build --release --locked -p quipu
	exec $${CARGO_TARGET_DIR:-target}/release/quipu serve --dev

release: ## The stripped release binary with its licences and bill of materials, in target/dist
	cargo build --release --locked -p quipu
	rm -rf $(DIST)
	mkdir -p $(DIST)
	strip -o $(DIST)/quipu $${CARGO_TARGET_DIR:-target}/release/quipu
	deploy/bill_of_materials.py $(DIST)
	cp LICENSE quipu.example.toml deploy/quipu.service deploy/prometheus-rules.yml deploy/grafana-dashboard.json $(DIST)/
	cd $(DIST) && sha256sum * >SHA256SUMS

test: ## Formatting, lints, every test on both databases, docs; installs and starts what it needs
	tests/bed/with-servers.sh tests/bed/suite.sh

soak: ## The long forms of the tests: kills, faults, histories; EFFORT, FAULTS, RUNS and SEED say how long
	TMPDIR=/var/tmp tests/bed/with-servers.sh --durable tests/bed/soak.sh

simulate: ## Simulated merchants, banks and nodes in memory, until an invariant is broken; RUNS, SEED and FAULT choose them
	cargo run --release --locked -p quipu-simulation -- $${SEED:-1} $${RUNS:-1000000000} $$FAULT

fuzz: ## Fuzz every parser of untrusted input, TIME (60) seconds each; READER chooses one
	tests/bed/fuzz.sh

bench: ## Measure the release binary on both databases; writes docs/BENCHMARKS.md
	# Not in /tmp, which may be memory: what is measured is durable.
	TMPDIR=/var/tmp tests/bed/with-servers.sh --durable tests/bed/bench.sh

fmt: ## Format the code
	cargo fmt --all

lint: ## Check formatting and lints
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

docs: ## Build the API documentation of every crate; a warning or a dead link is an error
	tests/bed/docs.sh

deny: ## Bans, licences and sources of all dependencies (installs cargo-deny, which takes minutes)
	command -v cargo-deny >/dev/null || cargo install cargo-deny --locked
	cargo deny --locked check bans licenses sources

shell: ## A shell with the test servers running, to run single tests in
	tests/bed/with-servers.sh --interactive $${SHELL:-bash}
