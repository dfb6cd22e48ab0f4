//! Traces have the shape that was asked for.

#![allow(clippy::unwrap_used)]

use super::*;

fn small(name: &str, seed: u64) -> Trace {
    let named = Assumptions::named(name, seed, 600, 0.9).unwrap();
    generate(&Assumptions { jobs: 4_000, days: 4, ..named })
}

#[test]
fn same_seed_same_trace_and_another_seed_another() {
    assert_eq!(small("philly", 1), small("philly", 1));
    assert_ne!(small("philly", 1), small("philly", 2));
}

#[test]
fn load_sizes_and_teams_are_as_asked_in_every_set() {
    for name in Assumptions::NAMES {
        let trace = small(name, 3);
        let asked: u64 = trace.jobs.iter().map(|job| u64::from(job.gpus) * job.duration_ms / 1_000).sum();
        let wanted = 0.9 * 600.0 * 4.0 * 86_400.0;
        #[expect(clippy::cast_precision_loss, reason = "a test within a percent")]
        let off = (asked as f64 / wanted - 1.0).abs();
        assert!(off < 0.02, "{name}: load is off by {off}");
        assert_eq!(trace.jobs.len(), 4_000);
        assert!(trace.jobs.windows(2).all(|pair| pair[0].submit_ms <= pair[1].submit_ms));
        assert!(trace.jobs.iter().all(|job| job.team < trace.teams.len()));
    }
}

#[test]
fn most_jobs_use_one_gpu_and_most_time_goes_to_gangs() {
    let trace = small("philly", 5);
    let singles = trace.jobs.iter().filter(|job| job.gpus == 1);
    let time = |job: &Job| u64::from(job.gpus) * job.duration_ms;
    let (all, alone): (u64, u64) = (trace.jobs.iter().map(time).sum(), singles.clone().map(time).sum());
    assert!(singles.count() > 3_600 && alone * 4 < all);
}
