//! A flooding team and a newcomer, in virtual time, with the plan of every second carried out.
//!
//! Without preemption nothing running is stopped, so what holds is this: from the moment the newcomer asks until it has its
//! share, everything that comes free is its own. With jobs of at most a minute that is within a minute; with longer ones it
//! is when so many of the flood's jobs have ended as the newcomer is owed GPUs.

#![allow(clippy::unwrap_used)]

use super::{
    policy_tests::{fleet, held_by, job_of, policy, queue},
    *,
};

const SECOND: i64 = 1_000_000;

struct World {
    input: Input,
    /// Second of the end, by job.
    ends: Vec<(i64, JobId)>,
    next: u128,
}

impl World {
    /// Four clusters of sixteen GPUs, of which each team is guaranteed a half.
    fn new() -> World {
        let tree = [
            queue("lab", None, None),
            queue("flood", Some("lab"), Some(32)),
            queue("new", Some("lab"), Some(32)),
        ];
        let clusters = [("east", 16), ("north", 16), ("south", 16), ("west", 16)];
        World { input: fleet(policy(&tree), &clusters), ends: Vec::new(), next: 1 }
    }

    fn submit(&mut self, team: &str, jobs: usize, second: i64) {
        for _ in 0..jobs {
            let job = Waiting { submitted_at: Timestamp(second * SECOND), ..job_of(team, self.next, 1) };
            self.input.waiting.push(job);
            self.next += 1;
        }
    }

    /// Ends what is over and carries out one plan. Answers who started.
    fn step(&mut self, second: i64, runs: impl Fn(u128) -> i64) -> Vec<String> {
        let over: Vec<JobId> =
            self.ends.iter().filter(|(end, _)| *end <= second).map(|(_, job)| *job).collect();
        self.ends.retain(|(end, _)| *end > second);
        for cluster in &mut self.input.clusters {
            cluster.attempts.retain(|held| !over.contains(&held.id.job));
        }
        self.input.now = Timestamp(second * SECOND);
        let plan = plan(&self.input);
        let mut started = Vec::new();
        for assign in &plan.assign {
            let at = self.input.waiting.iter().position(|job| job.job == assign.job).unwrap();
            let job = self.input.waiting.remove(at);
            let number = job.job.0.as_u128();
            let held = Held { assigned_at: self.input.now, ..held_by(number, &job.queue, 1) };
            let site = self.input.clusters.iter_mut().find(|one| one.id == assign.cluster).unwrap();
            site.attempts.push(held);
            self.ends.push((second + runs(number), job.job));
            started.push(job.queue);
        }
        started
    }

    fn runs_of(&self, team: &str) -> usize {
        let held = self.input.clusters.iter().flat_map(|cluster| &cluster.attempts);
        held.filter(|held| held.queue == team).count()
    }
}

/// Seconds until the newcomer has 95 % of its half, with jobs of the flood that run from 1 to `longest` seconds.
fn seconds_to_fair_share(longest: i64) -> i64 {
    let mut world = World::new();
    let runs = |number: u128| 1 + i64::try_from(number * 37).unwrap() % longest;
    world.submit("flood", 600, 0);
    for second in 0..30 {
        world.step(second, runs);
    }
    assert_eq!(world.runs_of("flood"), 64, "the flood has the whole fleet");
    world.submit("new", 200, 30);
    for second in 30.. {
        let started = world.step(second, |number| if number > 600 { 10_000 } else { runs(number) });
        let (flood, new) = (world.runs_of("flood"), world.runs_of("new"));
        assert_eq!(flood + new, 64, "nothing stands idle");
        if new * 100 >= 32 * 95 {
            return second - 30;
        }
        assert!(
            started.iter().all(|team| team == "new"),
            "all that comes free is the newcomer's: {started:?}"
        );
    }
    unreachable!("the range does not end")
}

#[test]
fn a_newcomer_has_its_fair_share_within_a_minute_of_short_jobs() {
    let seconds = seconds_to_fair_share(60);
    assert!(seconds <= 60, "{seconds} s");
}

#[test]
fn with_long_jobs_the_newcomer_waits_for_their_end_and_for_nothing_else() {
    let seconds = seconds_to_fair_share(600);
    assert!((60..=600).contains(&seconds), "{seconds} s");
}
