# Every run sets up what it needs. The work is done by xtask; this file only names it.
.DEFAULT_GOAL := help
.PHONY: help demo demo-down test quick acceptance chaos rounds bench bench-submit bench-rate bench-failover bench-flood bench-fleet bench-queue generate clean

XTASK := cargo run --quiet --locked --package xtask --
SUITE ?= e2erayjob
PATTERN ?= ^TestRayJobLightWeightMode$
OPERATOR ?= squadron
RUNS ?= 5
JOBS ?= 1000
QUEUED ?= 1000000
ROUNDS ?= 10
FAULTS ?= lost
SEED ?= 1
SIDE ?= squadron
STAGE ?= 1
LEASE ?= 20

help:
	@echo 'make demo          two clusters, a control plane, three Ray jobs; prints where to look and how to stop'
	@echo 'make demo-down     stop the demo and remove what it made'
	@echo 'make test          check everything, up to real Ray jobs on two clusters and a browser on the console'
	@echo 'make quick         the part of it that needs no clusters'
	@echo 'make chaos         cut networks and kill programs under running jobs'
	@echo 'make rounds        lose clusters again and again and count two copies: ROUNDS=10 FAULTS=lost|brief|… SEED=1'
	@echo '                   SIDE=squadron|multikueue STAGE=1|2 LEASE=20'
	@echo 'make acceptance    KubeRay'\''s own Go tests: SUITE=e2erayjob PATTERN=^TestRayJob$$ OPERATOR=squadron|kuberay'
	@echo 'make bench         measure from submit to the first line of output, beside KubeRay'\''s operator'
	@echo 'make bench-rate    measure jobs a second from submit to object, beside MultiKueue: RUNS=5 JOBS=1000'
	@echo 'make bench-flood     flood two clusters by one team and measure when one that comes later has its share'
	@echo 'make bench-failover  lose a cluster with a thousand fenced jobs and measure when they start elsewhere'
	@echo 'make bench-queue   measure submissions, lists and decisions while a million jobs wait: QUEUED=1000000'
	@echo 'make bench-fleet   measure jobs a second through 10 and 500 agents on fake API servers, and memory for each'
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

rounds:
	@SQUADRON_PROFILE=release $(XTASK) rounds --rounds '$(ROUNDS)' --faults '$(FAULTS)' --seed '$(SEED)' \
		--side '$(SIDE)' --stage '$(STAGE)' --lease '$(LEASE)'

acceptance:
	@$(XTASK) acceptance --suite '$(SUITE)' --pattern '$(value PATTERN)' --operator '$(OPERATOR)'

bench: bench-submit

bench-submit:
	@$(XTASK) bench-submit

bench-rate:
	@SQUADRON_PROFILE=release $(XTASK) bench-rate --runs $(RUNS) --jobs $(JOBS)

bench-failover:
	@SQUADRON_PROFILE=release $(XTASK) bench-failover

bench-flood:
	@SQUADRON_PROFILE=release $(XTASK) bench-flood

bench-queue:
	@SQUADRON_PROFILE=release $(XTASK) bench-queue --jobs $(QUEUED)

bench-fleet:
	@SQUADRON_PROFILE=release $(XTASK) bench-fleet --runs $(RUNS)

generate:
	@$(XTASK) generate

clean:
	@$(XTASK) clean
	@cargo clean
	@rm -rf web/node_modules web/dist
