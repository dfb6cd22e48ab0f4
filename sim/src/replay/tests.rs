//! Replays of small traces: the figures of one are fixed, and rules hold for all policies.

#![allow(clippy::unwrap_used)]

use squadron_core::dispatch::book::{Part, Terms};

use super::{
    figures::{Figures, figures, median},
    generate::{Assumptions, generate},
    input::{Fleet, Trace, read_fleet, read_jobs},
    policy::Placed,
    world::World,
    *,
};

const FLEET: &str = "cluster,gpu_model,gpus_per_node,nodes\neast,A100,8,2\nwest,A100,8,1\n";

fn fleet() -> Fleet {
    read_fleet("fleet.csv", FLEET.as_bytes()).unwrap()
}

fn trace(rows: &str) -> Trace {
    read_jobs("jobs.csv", format!("job,submit_s,duration_s,gpus,team\n{rows}").as_bytes()).unwrap()
}

fn outcome(trace: &Trace, fleet: &Fleet, policy: PolicyName, seed: u64) -> (Outcome, Figures) {
    let setting = Setting { trace, fleet, policy, seed, terms: Terms::default() };
    let outcome = replay(&setting).unwrap();
    let figures = figures(&setting, &outcome);
    (outcome, figures)
}

fn starts(rows: &str, policy: PolicyName) -> Vec<(String, u64)> {
    let trace = trace(rows);
    let (outcome, _) = outcome(&trace, &fleet(), policy, 0);
    let mut starts: Vec<(String, u64)> =
        outcome.runs.iter().map(|run| (trace.jobs[run.job].id.clone(), run.start / 1_000)).collect();
    starts.sort();
    starts
}

/// The example of Kueue's KEP-9988 in small: what the sum of quotas admits, no single cluster holds.
#[test]
fn quota_that_is_reserved_but_fits_nowhere_blocks_the_race_and_not_us() {
    let rows = "a,0,100,14,t\nb,0,100,5,t\nc,1,100,5,t\nd,2,10,3,t\n";
    let at = |starts: &[(String, u64)], job: &str| starts.iter().find(|(id, _)| id == job).unwrap().1;
    let race = starts(rows, PolicyName::MultiKueueAllAtOnce);
    assert_eq!(at(&race, "d"), 100, "c holds the last quota although no cluster has room for it");
    assert_eq!(at(&starts(rows, PolicyName::Default), "d"), 2);
}

#[test]
fn incremental_rounds_reach_one_cluster_more_only_after_five_minutes() {
    let fleet = "cluster,gpu_model,gpus_per_node,nodes\na,T,1,1\nb,T,1,1\nc,T,1,1\nd,T,8,1\n";
    let fleet = read_fleet("fleet.csv", fleet.as_bytes()).unwrap();
    let trace = trace("big,0,10,8,t\n");
    let (outcome, _) = outcome(&trace, &fleet, PolicyName::MultiKueueIncremental, 0);
    assert_eq!((outcome.runs[0].site, outcome.runs[0].start), (3, 300_000));
}

#[test]
fn fixed_figures_of_a_small_replay() {
    let trace = trace("a,0,3600,16,red\nb,0,3600,8,red\nc,60,600,8,blue\nd,120,60,1,red\nz,130,5,17,red\n");
    let (_, figures) = outcome(&trace, &fleet(), PolicyName::Default, 0);
    assert_eq!((figures.jobs, figures.jobs_that_never_fit, figures.overlaps), (4, 1, 0));
    assert_eq!((figures.mean_wait_s, figures.p50_wait_s, figures.p99_wait_s), (1_755.0, 0.0, 3_540.0));
    assert_eq!(figures.mean_completion_s, 3_720.0);
    assert_eq!(figures.gpu_hours_waiting, 8.833);
    assert_eq!(figures.mean_wait_gangs_16_up_s, 0.0);
    // Blue was owed 8 GPUs for 4,140 s and had none of them for 3,540 s. Red had at least its 12 all the time it asked.
    assert_eq!(figures.share_error_by_team["blue"], 0.855_072);
    assert_eq!(figures.share_error_by_team["red"], 0.0);
}

#[test]
fn zero_durations_and_equal_times_end() {
    let rows: String = (0..50).map(|job| format!("j{job},0,0,24,t{}\n", job % 3)).collect();
    let trace = trace(&rows.replace(",24,", ",16,"));
    for (policy, _) in PolicyName::ALL {
        let (outcome, figures) = outcome(&trace, &fleet(), policy, 1);
        assert_eq!((outcome.runs.len(), figures.p99_wait_s), (50, 0.0), "{}", policy.text());
    }
    let empty = read_jobs("jobs.csv", "job,submit_s,duration_s,gpus,team\n".as_bytes()).unwrap();
    assert_eq!(outcome(&empty, &fleet(), PolicyName::Default, 0).1.jobs, 0);
}

fn generated(name: &str) -> (Trace, Fleet) {
    let rows = "a,V,8,12\nb,V,8,8\nc,V,8,4\n";
    let fleet = format!("cluster,gpu_model,gpus_per_node,nodes\n{rows}");
    let fleet = read_fleet("fleet.csv", fleet.as_bytes()).unwrap();
    let made = Assumptions::named(name, 11, fleet.gpus(), 1.0).unwrap();
    (generate(&Assumptions { jobs: 6_000, days: 12, ..made }), fleet)
}

#[test]
fn every_policy_runs_every_job_once_and_again_the_same() {
    let (trace, fleet) = generated("philly");
    for (policy, _) in PolicyName::ALL {
        let (outcome_a, a) = outcome(&trace, &fleet, policy, 5);
        let (outcome_b, b) = outcome(&trace, &fleet, policy, 5);
        assert_eq!((a.jobs, a.overlaps), (6_000, 0));
        assert_eq!(outcome_a.runs, outcome_b.runs);
        assert_eq!(serde_json::to_string(&a).unwrap(), serde_json::to_string(&b).unwrap());
    }
}

#[test]
fn default_completes_sooner_and_is_fairer_than_the_race() {
    for name in ["philly", "flood", "few-teams"] {
        let (trace, fleet) = generated(name);
        let ours = outcome(&trace, &fleet, PolicyName::Default, 0).1;
        let races = (0..3).map(|seed| outcome(&trace, &fleet, PolicyName::MultiKueueAllAtOnce, seed).1);
        let race = median(races.collect()).unwrap();
        assert_eq!((race.seeds, race.runs.len()), (3, 3));
        assert!(ours.mean_completion_s < race.mean_completion_s, "{name}");
        assert!(ours.share_error < race.share_error, "{name}: {} and {}", ours.share_error, race.share_error);
    }
}

#[test]
fn exported_trace_reads_back_and_runs_are_written_in_order() {
    let (trace, fleet) = generated("calm");
    let mut text = Vec::new();
    export::write_jobs(&trace, &mut text).unwrap();
    assert_eq!(read_jobs("jobs.csv", text.as_slice()).unwrap().jobs, trace.jobs);
    let (outcome, _) = outcome(&trace, &fleet, PolicyName::Default, 0);
    let mut runs = Vec::new();
    export::write_runs(&trace, &fleet, &outcome, &mut runs).unwrap();
    let runs = String::from_utf8(runs).unwrap();
    assert!(runs.starts_with("job,team,gpus,submit_s,start_s,end_s,wait_s,cluster,reason\nj000000,"));
    assert_eq!(runs.lines().count(), 6_001);
}

#[test]
fn world_refuses_what_a_policy_may_not_do() {
    let (trace, fleet) = (trace("a,0,1,9,t\nb,0,1,8,t\n"), fleet());
    let mut world = World::new(&trace.jobs, &fleet);
    let placed =
        |job, site, milli| Placed { job, site, parts: vec![Part { pool: 0, milli }], reason: String::new() };
    assert!(matches!(world.start(&placed(0, 0, 9_000)), Err(Broken::NotWaiting { .. })));
    world.arrive(0, true);
    world.arrive(1, true);
    assert!(matches!(world.start(&placed(0, 0, 8_000)), Err(Broken::WrongAmount { .. })));
    assert!(matches!(world.start(&placed(0, 1, 9_000)), Err(Broken::OverCapacity { .. })));
    world.start(&placed(1, 0, 8_000)).unwrap();
    assert!(matches!(
        world.start(&placed(1, 0, 8_000)),
        Err(Broken::NotWaiting { state: "runs already", .. })
    ));
}
