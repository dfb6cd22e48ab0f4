//! Why a job waits, as the dispatcher wrote it.

use squadron_api::job::{Job, Why};

use super::{View, job::state_sentence, plain, style::Style, time::age};

/// The sentence, the blockers by rank, and what would change them.
pub fn why(job: &Job, why: Option<&Why>, view: View) -> String {
    let Some(why) = why else {
        return format!("job {}: {}\n", plain(&job.name), state_sentence(job));
    };
    let headline = format!("job {} is {}", plain(&job.name), plain(&why.sentence));
    format!("{headline} ({} ago)\n{}", age(why.decided_at, view.now), blockers(why, view))
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
    for (index, step) in steps(why).iter().enumerate() {
        text.push_str(&format!("  {}  {step}\n", if index == 0 { "try" } else { "   " }));
    }
    text
}

/// Every next step once, in the order of the blockers.
fn steps(why: &Why) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    for step in why.blockers.iter().map(|blocker| plain(&blocker.try_this)) {
        if !step.is_empty() && !steps.contains(&step) {
            steps.push(step);
        }
    }
    steps
}

#[cfg(test)]
pub mod tests {
    use squadron_api::job::Blocker;
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
            decided_at: NOW.plus_millis(-125_000),
        }
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
