//! Words: what both sides of a preemption are told.

use std::collections::BTreeMap;

use crate::{
    dispatch::{
        Blocker, Cause, Waiting, gang_total,
        preempt::{Coming, Kind, cost, victims::Victim},
    },
    id::AttemptId,
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
        Kind::Shrink => shrunk(job),
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

/// Why a worker group may not be as large as it was; a clause that follows how large it may be.
pub(super) fn shrunk(job: &Waiting) -> String {
    let name = clip(&job.name, 63);
    format!(
        "job {name} of {} needs the room, and what a job has beyond its minimum is promised to nobody",
        job.queue
    )
}

/// `3 pods of train`.
pub(super) fn pods(number: usize, name: &str) -> String {
    format!("{} of {}", count(number, "pod"), clip(name, 63))
}

/// For the beneficiary's history; `unseen` clusters were not compared.
pub(super) fn makes_room(
    job: &Waiting,
    cluster: &str,
    (victims, unseen): (&[Victim<'_>], usize),
    now: Timestamp,
) -> String {
    let stops: Vec<&Victim<'_>> = victims.iter().filter(|victim| victim.pod.is_none()).collect();
    let mut beyond: BTreeMap<AttemptId, (&str, usize)> = BTreeMap::new();
    for victim in victims.iter().filter(|victim| victim.pod.is_some()) {
        beyond.entry(victim.held.id).or_insert((&victim.held.stake.name, 0)).1 += 1;
    }
    beyond.retain(|attempt, _| stops.iter().all(|victim| victim.held.id != *attempt));
    let beyond = told(beyond.into_values().map(|(name, number)| pods(number, name)).collect());
    let mut parts = Vec::new();
    if !beyond.is_empty() {
        parts.push(format!(
            "asks {beyond} to go on {cluster}, which nobody promised to the jobs that have them"
        ));
    }
    if !stops.is_empty() {
        let each = stops.iter().map(|victim| loses(victim, now)).collect();
        let right = match stops.first().map(|victim| victim.kind) {
            Some(Kind::Priority) => "it is more urgent, or older and as urgent".to_owned(),
            _ => format!("{} takes back what it is guaranteed", job.queue),
        };
        parts.push(format!("asks {} to stop on {cluster}, where that loses least work: {right}", told(each)));
    }
    let mut text = parts.join("; ");
    if unseen > 0 {
        let others = count(unseen, "other cluster");
        text.push_str(&format!("; {others} could not be compared in the steps that a pass has for this"));
    }
    text
}

fn loses(victim: &Victim<'_>, now: Timestamp) -> String {
    let held = victim.held;
    let minutes = usize::try_from(cost::again(held, now) / 60_000).unwrap_or(usize::MAX);
    format!(
        "{} of {} ({}, loses {})",
        clip(&held.stake.name, 63),
        held.queue,
        amount(gang_total(&held.gang)),
        count(minutes, "minute")
    )
}

/// The first few, and how many there are more.
fn told(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(TOLD);
    names.truncate(TOLD);
    names.extend((more > 0).then(|| format!("{more} more")));
    list(&names)
}

/// Added to what a job waits for.
pub(in crate::dispatch) const CUT: &str =
    "; who could stop for it was not found in the steps that a pass has for this";

/// Added to what a job waits for.
pub(in crate::dispatch) const TOO_EARLY: &str = "; those that borrow are asked to stop for it once it has waited a twentieth of the time that they would lose";

/// What the beneficiary waits for.
pub(in crate::dispatch) fn waits_for(coming: &Coming<'_>, cluster: &str, now: Timestamp) -> Blocker {
    let names = told(coming.leaving.iter().map(|name| clip(name, 80)).collect());
    Blocker {
        code: Cause::MakingRoom,
        cluster: cluster.to_owned(),
        sentence: format!(
            "waits for {names} to stop on {cluster} ({}); what comes free there is kept for it",
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
