# `make help` lists the targets. On a fresh Debian 12 with Swift 6.3: `make demo`, `make check`.

PREFIX ?= /usr/local
DESTDIR ?=
URL ?=

# For `make bench`, from the command line only; YT_DLP=1 installs yt-dlp from PyPI into its cache.
GROUPS =
ROUNDS =
NAME =
NOTE =
YT_DLP =
BENCH_FLAGS =

SWIFT ?= swift
PYTHON ?= python3
RELEASE := .build/release/vidfetch

# A collection of reported failures, and one of real files, where such folders stand beside this one.
CASES ?= $(patsubst %/CASES.md,%,$(firstword $(wildcard ../*/cases/CASES.md)))
CORPUS ?= $(patsubst %/MANIFEST.tsv,%,$(firstword $(wildcard ../*/corpus/MANIFEST.tsv)))
CHECKER ?= $(firstword $(wildcard ../*/tools/corpus_check.py))

.DEFAULT_GOAL := help
.PHONY: help demo check build test lint fmt man install uninstall clean cases corpus bench binary

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

demo: ## Install what is missing, build, fetch a sample clip (or URL=...) with the bar
	@scripts/require build demo
	@$(MAKE) --no-print-directory binary
	@scripts/demo $(RELEASE) "$(URL)"

check: ## Install what is missing, build, lint, run every test; the last line counts them
	@scripts/require build check
	@$(PYTHON) scripts/check.py --cases "$(CASES)"

build: ## Build the release binary, with the Swift standard library linked in
	@scripts/require build
	@$(MAKE) --no-print-directory binary

binary:
	$(SWIFT) build -c release --static-swift-stdlib --product vidfetch

test: ## Run the tests only (debug build)
	@scripts/require build check
	@$(PYTHON) scripts/check.py --only tests

lint: ## Check format, scripts and manual page
	@scripts/require build check
	@$(PYTHON) scripts/check.py --only lint

fmt: ## Format the Swift sources in place
	$(SWIFT) format -i -r Package.swift Sources Tests Examples

man: build ## Write the manual page and the shell completions from the option table
	scripts/generated-files write $(RELEASE)

$(RELEASE):
	@$(MAKE) --no-print-directory build

install: $(RELEASE) ## Install under DESTDIR PREFIX (default /usr/local)
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -s -m 755 $(RELEASE) "$(DESTDIR)$(PREFIX)/bin/vidfetch"
	install -D -m 644 man/vidfetch.1 "$(DESTDIR)$(PREFIX)/share/man/man1/vidfetch.1"
	install -D -m 644 completions/vidfetch.bash \
	  "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/vidfetch"
	install -D -m 644 completions/_vidfetch \
	  "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_vidfetch"
	install -D -m 644 completions/vidfetch.fish \
	  "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/vidfetch.fish"
	install -D -m 644 LICENSE "$(DESTDIR)$(PREFIX)/share/doc/vidfetch/LICENSE"

uninstall: ## Remove what install put there
	rm -f "$(DESTDIR)$(PREFIX)/bin/vidfetch" \
	  "$(DESTDIR)$(PREFIX)/share/man/man1/vidfetch.1" \
	  "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/vidfetch" \
	  "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_vidfetch" \
	  "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/vidfetch.fish" \
	  "$(DESTDIR)$(PREFIX)/share/doc/vidfetch/LICENSE"
	-rmdir "$(DESTDIR)$(PREFIX)/share/doc/vidfetch" 2> /dev/null

cases: binary ## Run the collection of reported failures in CASES=DIR
	@test -n "$(CASES)" || { echo "say where the cases are: make cases CASES=DIR" >&2; exit 2; }
	$(PYTHON) Tests/cases/run_cases.py "$(CASES)" --vidfetch $(RELEASE)

corpus: binary ## Judge the binary on real files: CORPUS=DIR CHECKER=PATH
	@test -n "$(CORPUS)" -a -n "$(CHECKER)" || \
	  { echo "say where they are: make corpus CORPUS=DIR CHECKER=PATH" >&2; exit 2; }
	$(PYTHON) "$(CHECKER)" --vidfetch $(RELEASE) --corpus "$(CORPUS)"

bench: ## Time vidfetch against what people use: GROUPS="files" ROUNDS=3, NAME=... to keep it
	@scripts/require build bench
	@scripts/require peers || echo "what is missing is left out by name" >&2
	@$(MAKE) --no-print-directory binary
	$(PYTHON) Benchmarks/run.py $(GROUPS) --vidfetch $(RELEASE) $(if $(ROUNDS),--rounds $(ROUNDS)) \
	  $(if $(NAME),--name "$(NAME)") $(if $(NOTE),--note "$(NOTE)") $(if $(YT_DLP),--yt-dlp) \
	  $(BENCH_FLAGS)

clean: ## Remove everything that was built
	rm -rf .build
