# Every command of the project; `make help` lists them. The work is done in tools/ and by the presets of CMake.
#
# SETUP=true   skips the check for packages (on a system without apt-get)
# JOBS=N       how many things run at once (default: one for each processor)
JOBS ?= $(shell nproc)
SETUP ?= tools/setup
PREFIX ?= /usr/local
SECONDS ?= 60
IEZ := $(CURDIR)/build/release/apps/iez/iez

export JOBS IEZ
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help demo test test-long lint format asan tsan fuzz bench coverage install clean

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

demo: ## build iez and see the whole loop work on a lab
	@$(SETUP) build
	@tools/build release iez iez_preload
	@examples/demo.sh --out build/demo

test: ## build everything and run every test but the slow ones
	@$(SETUP) build test
	@tools/test dev

test-long: ## run the slow tests: many programs, large files
	@$(SETUP) build test
	@tools/test dev -L long

lint: ## check layout, bugs and names (clang-tidy), layers, headers, scripts
	@$(SETUP) build test lint
	@tools/lint

format: ## lay out every C++ source
	@$(SETUP) lint
	@tools/lint --fix format

asan: ## run every test under the address and undefined behaviour sanitizers
	@$(SETUP) build test
	@tools/test asan

tsan: ## run every test under the thread sanitizer
	@$(SETUP) build test
	@tools/test tsan

fuzz: ## run every fuzz target for SECONDS=60
	@$(SETUP) build lint
	@tools/fuzz --seconds $(SECONDS)

bench: ## run every benchmark and compare with peers
	@$(SETUP) build bench
	@tools/build release
	@$(IEZ) bench --all

coverage: ## run every test and tell which lines they reach
	@$(SETUP) build test coverage
	@tools/test coverage
	@gcovr --root . --filter src/ --filter apps/ --exclude '.*_test\.cpp' -j $(JOBS) build/coverage

install: ## build and install to PREFIX=/usr/local
	@$(SETUP) build
	@tools/build release
	@cmake --install build/release --prefix '$(PREFIX)' >build/release/install.log
	@echo 'installed to $(DESTDIR)$(PREFIX)'

clean: ## remove everything that was built
	@rm -rf build
