//! Words: what both sides of a preemption are told.

use crate::{
    dispatch::{
        Blocker, Cause, Waiting, gang_total,
        preempt::{Coming, Kind, cost, victims::Victim},
    },
    sentence::{amount, clip, count, list},
    time::Timestamp,
};

/// Names that a sentence tells.
const TOLD: usize = 3;

/// Why an attempt is stopped; a clause that follows the name of its cluster.
pub(super) fn stopped(job: &Waiting, victim: &Victim<'_>) -> String {
    let name = clip(&job.name, 63);
    let (ours, theirs) = (job.priority, victim.held.stake.priority);
    match victim.kind {
        Kind::Reclaim => format!(
            "stopped to make room for job {name}: {} takes back what it is guaranteed, and {} borrows it",
            job.queue, victim.held.queue
        ),
        Kind::Priority if theirs < ours => format!(
            "stopped to make room for job {name} of {}, which is more urgent (priority {ours}, this one has {theirs})",
            job.queue
        ),
        Kind::Priority => format!(
            "stopped to make room for job {name} of {}, which is as urgent and was submitted earlier",
            job.queue
        ),
    }
}

/// For the beneficiary's history; `unseen` clusters were not compared.
pub(super) fn makes_room(
    job: &Waiting,
    cluster: &str,
    (victims, unseen): (&[Victim<'_>], usize),
    now: Timestamp,
) -> String {
    let each = victims.iter().take(TOLD).map(|victim| {
        let held = victim.held;
        let minutes = cost::again(held, now) / 60_000;
        format!(
            "{} of {} ({}, loses {})",
            clip(&held.stake.name, 63),
            held.queue,
            amount(gang_total(&held.gang)),
            count(usize::try_from(minutes).unwrap_or(usize::MAX), "minute")
        )
    });
    let mut told: Vec<String> = each.collect();
    let more = victims.len().saturating_sub(TOLD);
    told.extend((more > 0).then(|| format!("{more} more")));
    let right = match victims.first().map(|victim| victim.kind) {
        Some(Kind::Priority) => "it is more urgent, or older and as urgent".to_owned(),
        _ => format!("{} takes back what it is guaranteed", job.queue),
    };
    let mut text = format!("asks {} to stop on {cluster}, where that loses least work: {right}", list(&told));
    if unseen > 0 {
        let others = count(unseen, "other cluster");
        text.push_str(&format!("; {others} could not be compared in the steps that a pass has for this"));
    }
    text
}

/// Added to what a job waits for.
pub(in crate::dispatch) const CUT: &str =
    "; who could stop for it was not found in the steps that a pass has for this";

/// What the beneficiary waits for.
pub(in crate::dispatch) fn waits_for(coming: &Coming<'_>, cluster: &str, now: Timestamp) -> Blocker {
    let mut names: Vec<String> = coming.leaving.iter().take(TOLD).map(|name| clip(name, 63)).collect();
    let more = coming.leaving.len().saturating_sub(TOLD);
    names.extend((more > 0).then(|| format!("{more} more")));
    Blocker {
        code: Cause::MakingRoom,
        cluster: cluster.to_owned(),
        sentence: format!(
            "waits for {} to stop on {cluster} ({}); what comes free there is kept for it",
            list(&names),
            asked(now.millis_since(coming.asked_at))
        ),
        try_this: String::new(),
        with: Vec::new(),
    }
}

/// In steps that are no news every second.
fn asked(millis: i64) -> String {
    match millis / 1_000 {
        ..5 => "stop asked just now".to_owned(),
        seconds @ 5..60 => format!("stop asked {} s ago", seconds / 5 * 5),
        seconds => format!("stop asked {} min ago", seconds / 60),
    }
}
