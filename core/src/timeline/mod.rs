//! Timeline: a job's life as sentences, in the order in which it happened.
//!
//! Owns how facts read. Invariant: a pure function of what is stored, so it answers the same long after the cluster is
//! gone; a fact that tells nothing new gives no entry.

mod facts;

use std::cmp::Ordering;

use crate::{fact::Fact, sentence::clip, time::Timestamp};

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub at: Timestamp,
    /// `job`, `pod`, `ray`, `incident` or `kernel`.
    pub source: &'static str,
    pub sentence: String,
}

/// Everything that is stored about a job's life.
#[derive(Clone, Default, Debug)]
pub struct Story<'a> {
    pub submitted_at: Option<Timestamp>,
    pub owner: &'a str,
    pub queue: &'a str,
    pub cancelled: Option<(Timestamp, &'a str)>,
    /// The job's end and its sentence.
    pub ended: Option<(Timestamp, &'a str)>,
    pub placements: Vec<Placement<'a>>,
    /// When attempts were asked to stop for other jobs, and why.
    pub asked: Vec<(Timestamp, String)>,
    /// Facts about the job in the order in which they were told.
    pub facts: &'a [(Timestamp, Fact)],
    /// When each incident began, and its title; and when and how it ended.
    pub incidents: Vec<(Timestamp, String)>,
    /// Kernel lines among the incidents' evidence.
    pub kernel: Vec<(Timestamp, String)>,
}

/// One attempt.
#[derive(Clone, Debug)]
pub struct Placement<'a> {
    pub at: Timestamp,
    pub number: u32,
    pub cluster: &'a str,
    pub because: &'a str,
}

/// The job's steps, the earliest first; of several at one time, in the order of their causes.
pub fn build(story: &Story<'_>) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut push = |at, source, sentence: String| entries.push(Entry { at, source, sentence });
    if let Some(at) = story.submitted_at {
        push(at, "job", format!("submitted to queue {} by {}", story.queue, clip(story.owner, 100)));
    }
    for placement in &story.placements {
        push(
            placement.at,
            "job",
            format!(
                "assigned to {} as attempt {}: {}",
                placement.cluster, placement.number, placement.because
            ),
        );
    }
    for (at, why) in &story.asked {
        push(*at, "job", clip(why, 600));
    }
    if let Some((at, by)) = story.cancelled {
        push(at, "job", format!("cancellation requested by {}", clip(by, 100)));
    }
    for (at, line) in &story.kernel {
        push(*at, "kernel", clip(line, 300));
    }
    for (at, title) in &story.incidents {
        push(*at, "incident", title.clone());
    }
    entries.extend(facts::entries(story.facts));
    if let Some((at, sentence)) = story.ended {
        entries.push(Entry { at, source: "job", sentence: sentence.to_owned() });
    }
    entries.sort_by(in_time);
    entries.dedup();
    entries
}

/// By time alone; the sort is stable, so entries of one time keep the order above.
fn in_time(a: &Entry, b: &Entry) -> Ordering {
    a.at.cmp(&b.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1_000)
    }

    #[test]
    fn a_life_reads_from_submission_to_end() {
        let facts = [];
        let story = Story {
            submitted_at: Some(at(1)),
            owner: "ann",
            queue: "research",
            cancelled: None,
            ended: Some((at(9), "failed on east: the driver failed")),
            placements: vec![Placement { at: at(2), number: 1, cluster: "east", because: "it has room" }],
            asked: vec![(at(4), "attempt 1 on east was stopped to make room for job eval".into())],
            facts: &facts,
            incidents: vec![(at(5), "A pod was killed".into())],
            kernel: vec![(at(5), "Killed process 7".into())],
        };
        let told: Vec<String> =
            build(&story).into_iter().map(|entry| format!("{} {}", entry.source, entry.sentence)).collect();
        assert_eq!(
            told,
            [
                "job submitted to queue research by ann",
                "job assigned to east as attempt 1: it has room",
                "job attempt 1 on east was stopped to make room for job eval",
                "kernel Killed process 7",
                "incident A pod was killed",
                "job failed on east: the driver failed",
            ]
        );
    }
}
