# muster's two commands for people are "make demo" and "make test".
# Both do all their own set-up on a machine with Go and Python.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X github.com/muster-project/muster/internal/version.version=$(VERSION)
STATIC   = CGO_ENABLED=0 $(GO) build -buildvcs=false -trimpath -ldflags "$(LDFLAGS)"

export GO

.PHONY: help build demo test test-quick test-all lint bench bench-launch bench-yarn chaos docs clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/muster, with bin/executor embedded in it
	@mkdir -p bin
	$(STATIC) -o bin/executor ./cmd/executor
	@gzip -9 -n -c bin/executor > internal/embedded/executor.gz.new
	@mv internal/embedded/executor.gz.new internal/embedded/executor.gz
	$(STATIC) -tags embed_executor -o bin/muster ./cmd/muster

demo: build ## train a small PyTorch model with four ranks on this machine
	@tools/demo.sh

test: ## lint, all tests, real frameworks, a real Hadoop, with Kerberos too; says how long each part took
	@tools/test.sh build unit road frameworks yarn secure chaos lint

test-quick: ## build and unit tests without the race detector: a minute or two
	@tools/test.sh build quick

test-all: ## everything "test" has, then Horovod, fuzzing, benchmarks, older Hadoops and the long matrices
	@tools/test.sh build unit road frameworks horovod yarn secure race fuzz bench long-yarn long-chaos lint

lint: ## golangci-lint, formatting, generated files, sizes, and what must not be in the tree
	@tools/test.sh build lint

bench: build ## the benchmarks, with memory; starting processes and large jobs, beside what people use today
	@tools/test.sh bench bench-launch bench-scale

bench-launch: build ## muster and its peers start processes on this machine: time, processor time, memory
	@tools/test.sh bench-launch

bench-yarn: build ## muster and its peers on a real YARN: time to start, processor time, memory
	@tools/test.sh bench-yarn

chaos: ## kill every part of muster, and of a secure Hadoop, at every moment of a job, many times
	@tools/test.sh build long-chaos

docs: ## regenerate what is generated: protocol, job file reference and schema
	$(GO) generate ./...
	$(GO) test ./spec -run 'Document|Schema' -update

clean: ## remove what "make build" made; the caches stay
	rm -rf bin internal/embedded/executor.gz
