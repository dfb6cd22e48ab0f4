//! One job in full: what it is doing, how it came there, where it runs, what it costs, what to try.

use squadron_api::{
    incident::Incident,
    job::{Attempt, Job, JobDetail, Pod, TimelineEntry},
};
use squadron_core::job::JobState;

use super::{
    View,
    amount::resources,
    arrival::arrived,
    count,
    job::state_sentence,
    or_dash, plain,
    style::Style,
    table::{Cell, left, right, table},
    time::{absolute, age, clock, day, span},
    why::blockers,
};

/// The whole page. `incidents` are those of the job that could be fetched.
pub fn describe(detail: &JobDetail, incidents: &[Incident], view: View) -> String {
    let job = &detail.job;
    let mut text = header(job, view);
    text.push_str(&facts(detail, view));
    if let Some(why) = detail.why.as_ref().filter(|why| !why.blockers.is_empty()) {
        let title = format!("Why it waits (decided {} ago)", age(why.decided_at, view.now));
        text.push_str(&format!("\n{title}\n{}", blockers(why, view)));
    }
    text.push_str(&timeline(&detail.timeline));
    text.push_str(&attempts(&detail.attempts, view));
    text.push_str(&pods(&detail.pods, view));
    text.push_str(&hit_by(detail, incidents, view));
    text.push_str(&commands(detail));
    text
}

fn header(job: &Job, view: View) -> String {
    let sentence = state_sentence(job);
    let rest = sentence.strip_prefix(job.state.word()).unwrap_or_default();
    let word = Style::of_state(job.state.word()).paint(job.state.word(), view.colour);
    let mut text = format!("{}  {word}{rest}\n", plain(&job.name));
    if let Some(since) = job.stale_since {
        let cluster = or_dash(job.cluster.as_deref().unwrap_or_default());
        let line = format!(
            "{cluster} is silent since {} ({}); what is said here is as old as that.",
            absolute(since),
            age(since, view.now)
        );
        text.push_str(&format!("  {}\n", Style::Waiting.paint(&line, view.colour)));
    }
    text
}

fn facts(detail: &JobDetail, view: View) -> String {
    let job = &detail.job;
    let when = |at| format!("{} ({} ago)", absolute(at), age(at, view.now));
    let mut facts = vec![
        ("id", job.id.to_string()),
        ("queue", plain(&job.queue)),
        ("cluster", or_dash(job.cluster.as_deref().unwrap_or_default())),
        ("owner", plain(&job.owner)),
        ("arrived", detail.source.as_ref().map(arrived).unwrap_or_default()),
        ("namespace", plain(&job.namespace)),
        ("requests", resources(job.requests)),
        ("submitted", when(job.submitted_at)),
    ];
    facts.extend(job.started_at.map(|at| ("started", when(at))));
    facts.extend(job.ended_at.map(|at| ("ended", when(at))));
    if let Some(start) = job.started_at {
        facts.push(("runtime", span(job.ended_at.unwrap_or(view.now).millis_since(start))));
    }
    facts.push(("reason", or_dash(&job.reason)));
    if !job.on_lost.is_empty() {
        facts.push(("on loss", format!("{} ({})", plain(&job.on_lost), plain(&job.on_lost_because))));
    }
    let overlaps = detail.attempts.iter().filter(|attempt| attempt.proof == "overlap_allowed").count();
    if overlaps > 0 {
        facts.push((
            "ran twice",
            format!("possibly, {}: its policy allowed a second copy", count(overlaps, "time")),
        ));
    }
    match &detail.cost {
        Some(cost) => facts.push(("cost so far", plain(cost))),
        None if detail.pods.is_empty() => {}
        None => facts.push(("cost so far", "no price sheet is in force".into())),
    }
    facts.retain(|(label, value)| match *label {
        "reason" => value != "-",
        "arrived" => !value.is_empty(),
        _ => true,
    });
    let lines: String = facts.iter().map(|(label, value)| format!("  {label:<13}{value}\n")).collect();
    format!("\n{lines}")
}

fn section(title: &str, body: &str) -> String {
    let indented: String = body.lines().map(|line| format!("  {line}\n")).collect();
    format!("\n{title}\n{indented}")
}

/// Each step with the time since the one before.
fn timeline(steps: &[TimelineEntry]) -> String {
    let Some(first) = steps.first() else { return String::new() };
    let mut text = format!("\nTimeline ({}, UTC)\n", day(first.at));
    let mut before = first.at;
    for step in steps {
        let since = step.at.millis_since(before);
        let gap = if since < 1_000 { String::new() } else { format!("+{}", span(since)) };
        if day(step.at) != day(before) {
            text.push_str(&format!("  {}\n", day(step.at)));
        }
        text.push_str(&format!(
            "  {}  {gap:<10}  {:<8}  {}\n",
            clock(step.at),
            plain(&step.source),
            plain(&step.sentence)
        ));
        before = step.at;
    }
    text
}

fn attempts(attempts: &[Attempt], view: View) -> String {
    if attempts.is_empty() {
        return String::new();
    }
    let mut text = "\nAttempts\n".to_owned();
    for attempt in attempts {
        let word = Style::of_state(&attempt.state).paint(&plain(&attempt.state), view.colour);
        text.push_str(&format!(
            "  {}  {} on {}, RayJob {}\n",
            attempt.number,
            word,
            plain(&attempt.cluster),
            plain(&attempt.object)
        ));
        text.push_str(&format!("     chosen: {}\n", or_dash(&attempt.chosen_because)));
        text.push_str(&format!("     {}\n", attempt_times(attempt)));
        if !attempt.capped_because.is_empty() {
            text.push_str(&format!("     capped: {}\n", plain(&attempt.capped_because)));
        }
        if !attempt.ended_because.is_empty() {
            text.push_str(&format!("     ended: {}\n", plain(&attempt.ended_because)));
        }
    }
    text
}

fn attempt_times(attempt: &Attempt) -> String {
    let step = |label: &str, at| {
        format!(
            ", {label} after {}",
            span(squadron_core::time::Timestamp::millis_since(at, attempt.assigned_at))
        )
    };
    let running = attempt.running_at.map(|at| step("running", at)).unwrap_or_default();
    let saved = attempt.checkpointed_at.map(|at| step("last checkpoint", at)).unwrap_or_default();
    let ended = attempt.ended_at.map(|at| step("ended", at)).unwrap_or_default();
    format!("assigned {}{running}{saved}{ended}", absolute(attempt.assigned_at))
}

fn pods(pods: &[Pod], view: View) -> String {
    if pods.is_empty() {
        return String::new();
    }
    let columns = [left("ROLE"), left("POD"), left("NODE"), left("PHASE"), right("EXIT"), left("REASON")];
    let rows: Vec<Vec<Cell>> = pods.iter().map(pod_cells).collect();
    section("Pods", &table(&columns, &rows, view.colour))
}

fn pod_cells(pod: &Pod) -> Vec<Cell> {
    let gone = if pod.gone { " (gone)" } else { "" };
    vec![
        or_dash(&pod.role).into(),
        pod.name.as_str().into(),
        or_dash(&pod.node).into(),
        Cell::styled(&format!("{}{gone}", pod.phase), Style::of_state(&pod.phase)),
        pod.exit_code.map_or_else(|| "-".into(), |code| code.to_string()).into(),
        pod.reason.as_str().into(),
    ]
}

fn hit_by(detail: &JobDetail, incidents: &[Incident], view: View) -> String {
    if detail.incidents.is_empty() {
        return String::new();
    }
    let line = |id: &squadron_core::id::IncidentId| match incidents.iter().find(|incident| incident.id == *id)
    {
        None => format!("  {id}\n"),
        Some(incident) => {
            let state = Style::of_state(&incident.state).paint(&plain(&incident.state), view.colour);
            format!("  {state}  {}  [{}]\n        {id}\n", plain(&incident.title), plain(&incident.verdict))
        }
    };
    format!("\nIncidents\n{}", detail.incidents.iter().map(line).collect::<String>())
}

fn commands(detail: &JobDetail) -> String {
    // Several jobs may carry one name, and a name would mean the newest of them.
    let id = detail.job.id;
    let mut lines = Vec::new();
    if detail.job.attempt > 0 {
        let follow = if detail.job.state.is_terminal() { "" } else { " -f" };
        lines.push(format!("squadron logs{follow} {id}"));
    }
    lines.extend(detail.incidents.first().map(|id| format!("squadron incidents show {id}")));
    if !detail.job.state.is_terminal() {
        if detail.job.state == JobState::Queued {
            lines.push(format!("squadron where {id}"));
        }
        lines.push(format!("squadron cancel {id}"));
    }
    if lines.is_empty() { String::new() } else { section("Try", &lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::job::tests::{NOW, VIEW, job};

    fn detail(job: Job) -> JobDetail {
        let step = |ago: i64, source: &str, sentence: &str| TimelineEntry {
            at: NOW.plus_millis(-ago),
            source: source.into(),
            sentence: sentence.into(),
        };
        JobDetail {
            job,
            source: None,
            manifest: String::new(),
            attempts: vec![Attempt {
                number: 1,
                cluster: "east".into(),
                state: "running".into(),
                object: "train-17-000000a1-1".into(),
                chosen_because:
                    "east has room: the job asks for 2.5 cores, free are 6.5; no other cluster has".into(),
                ended_because: String::new(),
                capped_because: String::new(),
                proof: String::new(),
                assigned_at: NOW.plus_millis(-598_000),
                running_at: Some(NOW.plus_millis(-245_000)),
                checkpointed_at: Some(NOW.plus_millis(-65_000)),
                ended_at: None,
            }],
            timeline: vec![
                step(600_000, "job", "submitted by ada"),
                step(598_000, "job", "assigned to east"),
                step(245_000, "ray", "the driver runs"),
            ],
            pods: vec![Pod {
                name: "train-17-head".into(),
                role: "head".into(),
                node: "east-1".into(),
                phase: "Running".into(),
                reason: String::new(),
                exit_code: None,
                gone: false,
            }],
            why: None,
            incidents: vec![],
            cost: Some("0.12 EUR".into()),
        }
    }

    #[test]
    fn running_job_reads_from_state_to_next_command() {
        insta::assert_snapshot!(describe(&detail(job("train-17", JobState::Running)), &[], VIEW), @"
        train-17  running: Ray runs the driver.

          id           0193a5a0-0000-7000-8000-0000000000a1
          queue        research
          cluster      east
          owner        ada
          namespace    default
          requests     2.5 CPU, 5 GiB, 8 GPU
          submitted    2026-11-30T00:53:20Z (10 m ago)
          started      2026-11-30T00:59:15Z (4 m 05 s ago)
          runtime      4 m 05 s
          on loss      wait (the job names no checkpoint)
          cost so far  0.12 EUR

        Timeline (2026-11-30, UTC)
          00:53:20              job       submitted by ada
          00:53:22  +2 s        job       assigned to east
          00:59:15  +5 m 53 s   ray       the driver runs

        Attempts
          1  running on east, RayJob train-17-000000a1-1
             chosen: east has room: the job asks for 2.5 cores, free are 6.5; no other cluster has
             assigned 2026-11-30T00:53:22Z, running after 5 m 53 s, last checkpoint after 8 m 53 s

        Pods
          ROLE   POD             NODE     PHASE     EXIT   REASON
          head   train-17-head   east-1   Running      -

        Try
          squadron logs -f 0193a5a0-0000-7000-8000-0000000000a1
          squadron cancel 0193a5a0-0000-7000-8000-0000000000a1
        ");
    }

    #[test]
    fn silence_of_the_cluster_is_said_at_the_top() {
        let stale =
            Job { stale_since: Some(NOW.plus_millis(-360_000)), ..job("train-17", JobState::Running) };
        let text = describe(&detail(stale), &[], VIEW);
        assert_eq!(
            text.lines().nth(1),
            Some("  east is silent since 2026-11-30T00:57:20Z (6 m); what is said here is as old as that.")
        );
    }
}
