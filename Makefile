# Every run sets up what it needs. The work is done by xtask; this file only names it.
.DEFAULT_GOAL := help
.PHONY: help demo demo-down test quick acceptance chaos bench bench-submit bench-rate bench-queue generate clean

XTASK := cargo run --quiet --locked --package xtask --
SUITE ?= e2erayjob
PATTERN ?= ^TestRayJobLightWeightMode$
OPERATOR ?= squadron

help:
	@echo 'make demo          two clusters, a control plane, three Ray jobs; prints where to look and how to stop'
	@echo 'make demo-down     stop the demo and remove what it made'
	@echo 'make test          check everything, up to real Ray jobs on two clusters and a browser on the console'
	@echo 'make quick         the part of it that needs no clusters'
	@echo 'make chaos         cut networks and kill programs under running jobs'
	@echo 'make acceptance    KubeRay'\''s own Go tests: SUITE=e2erayjob PATTERN=^TestRayJob$$ OPERATOR=squadron|kuberay'
	@echo 'make bench         measure from submit to the first line of output, beside KubeRay'\''s operator'
	@echo 'make bench-queue   measure submissions, lists and decisions while a million jobs wait'
	@echo 'make generate      write the generated files anew'
	@echo 'make clean         stop everything, remove clusters and build results'

demo:
	@$(XTASK) demo

demo-down:
	@$(XTASK) demo-down

test:
	@$(XTASK) ci

quick:
	@$(XTASK) ci --quick

chaos:
	@$(XTASK) chaos

acceptance:
	@$(XTASK) acceptance --suite '$(SUITE)' --pattern '$(value PATTERN)' --operator '$(OPERATOR)'

bench: bench-submit

bench-submit:
	@$(XTASK) bench-submit

bench-rate:
	@$(XTASK) bench-rate

bench-queue:
	@$(XTASK) bench-queue

generate:
	@$(XTASK) generate

clean:
	@$(XTASK) clean
	@cargo clean
	@rm -rf web/node_modules web/dist
