//! Why a job waits, as the dispatcher wrote it.

use squadron_api::{
    job::{Attempt, Blocker, Job, Why},
    placement::Ahead,
};

use super::{View, amount::resources, count, job::state_sentence, plain, style::Style, time::age};

/// The sentence, the blockers by rank, and what would change them.
pub fn why(job: &Job, why: Option<&Why>, view: View) -> String {
    let Some(why) = why else {
        return format!("job {}: {}\n", plain(&job.name), state_sentence(job));
    };
    let headline = format!("job {} is {}", plain(&job.name), plain(&why.sentence));
    format!("{headline} ({} ago)\n{}", age(why.decided_at, view.now), blockers(why, view))
}

/// Why worker groups of a job that runs are kept small.
pub fn capped(attempts: &[Attempt]) -> String {
    let newest = attempts.last().filter(|attempt| !attempt.capped_because.is_empty());
    newest.map_or_else(String::new, |attempt| format!("  {}\n", plain(&attempt.capped_because)))
}

/// The blockers by rank with their codes, and what would change them.
pub fn blockers(why: &Why, view: View) -> String {
    let mut text = String::new();
    let scope = |cluster: &str| if cluster.is_empty() { "fleet".to_owned() } else { plain(cluster) };
    let width = why.blockers.iter().map(|blocker| scope(&blocker.cluster).chars().count()).max().unwrap_or(0);
    for (index, blocker) in why.blockers.iter().enumerate() {
        let code = Style::Quiet.paint(&format!("[{}]", plain(&blocker.code)), view.colour);
        let rank = index + 1;
        text.push_str(&format!(
            "  {rank} {:<width$}  {}  {code}\n",
            scope(&blocker.cluster),
            plain(&blocker.sentence)
        ));
    }
    text.push_str(&ahead(&why.ahead, view));
    if let Some(estimate) = &why.estimate {
        text.push_str(&format!("  wait  {}\n", plain(&estimate.sentence)));
    }
    text + &steps_of(&why.blockers)
}

/// The jobs that the dispatcher looks at before this one: how many, and the first of them.
fn ahead(ahead: &Ahead, view: View) -> String {
    if ahead.count == 0 {
        return String::new();
    }
    let number = count(usize::try_from(ahead.count).unwrap_or(usize::MAX), "job");
    let more = ahead.count > u32::try_from(ahead.jobs.len()).unwrap_or(u32::MAX);
    let which = if more { format!(", the first {}", ahead.jobs.len()) } else { String::new() };
    let mut text = format!("  ahead  {number}{which}:\n");
    for job in &ahead.jobs {
        let (name, asks) = (plain(&job.name), resources(job.requests));
        let waits = age(job.submitted_at, view.now);
        text.push_str(&format!("    {name} ({}) asks for {asks}, waits {waits}\n", job.id));
    }
    text
}

/// Every next step once, in the order of the blockers.
pub fn steps_of(blockers: &[Blocker]) -> String {
    let mut steps: Vec<String> = Vec::new();
    for step in blockers.iter().map(|blocker| plain(&blocker.try_this)) {
        if !step.is_empty() && !steps.contains(&step) {
            steps.push(step);
        }
    }
    let line =
        |(index, step): (usize, &String)| format!("  {}  {step}\n", if index == 0 { "try" } else { "   " });
    steps.iter().enumerate().map(line).collect()
}

#[cfg(test)]
pub mod tests {
    use squadron_api::placement::{Estimate, WaitingJob};
    use squadron_core::job::JobState;

    use super::*;
    use crate::render::job::tests::{NOW, VIEW, job};

    pub fn too_big() -> Why {
        let blocker = |code: &str, cluster: &str, sentence: &str, step: &str| Blocker {
            code: code.into(),
            cluster: cluster.into(),
            sentence: sentence.into(),
            try_this: step.into(),
        };
        Why {
            sentence: "queued in research, 4th of 11".into(),
            position: Some(4),
            queue_length: 11,
            blockers: vec![
                blocker("TOO_BIG", "east", "needs 64 CPU; the cluster has 8", "ask for fewer workers"),
                blocker("CLUSTER_STALE", "eu-west-b", "no report for 6 m, not considered", ""),
            ],
            ahead: Ahead::default(),
            estimate: None,
            decided_at: NOW.plus_millis(-125_000),
        }
    }

    #[test]
    fn what_is_ahead_and_how_long_it_may_take_stand_before_what_helps() {
        let other = job("eval", JobState::Queued);
        let first = WaitingJob {
            id: other.id,
            name: other.name,
            owner: other.owner,
            position: Some(1),
            requests: other.requests,
            submitted_at: other.submitted_at,
            code: "CLUSTER_FULL".into(),
            sentence: "east is full".into(),
            since: None,
        };
        let estimate = Estimate { sentence: "p50 3 m 0 s, p90 20 m 0 s".into(), ..Estimate::default() };
        let waits =
            Why { ahead: Ahead { count: 3, jobs: vec![first] }, estimate: Some(estimate), ..too_big() };
        insta::assert_snapshot!(blockers(&waits, VIEW), @"
          1 east       needs 64 CPU; the cluster has 8  [TOO_BIG]
          2 eu-west-b  no report for 6 m, not considered  [CLUSTER_STALE]
          ahead  3 jobs, the first 1:
            eval (0193a5a0-0000-7000-8000-0000000000a1) asks for 2.5 CPU, 5 GiB, 8 GPU, waits 10 m
          wait  p50 3 m 0 s, p90 20 m 0 s
          try  ask for fewer workers
        ");
    }

    #[test]
    fn blockers_stand_by_rank_with_code_and_next_step() {
        insta::assert_snapshot!(why(&job("train-17", JobState::Queued), Some(&too_big()), VIEW), @"
        job train-17 is queued in research, 4th of 11 (2 m 05 s ago)
          1 east       needs 64 CPU; the cluster has 8  [TOO_BIG]
          2 eu-west-b  no report for 6 m, not considered  [CLUSTER_STALE]
          try  ask for fewer workers
        ");
    }

    #[test]
    fn job_that_does_not_wait_says_what_it_does() {
        let text = why(&job("train-17", JobState::Running), None, VIEW);
        assert_eq!(text, "job train-17: running: Ray runs the driver.\n");
    }
}
