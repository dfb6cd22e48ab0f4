//! Incidents in lists and by themselves.

use squadron_api::incident::Incident;

use super::{
    View,
    list::Row,
    or_dash, plain,
    style::Style,
    table::{Cell, Column, left, right},
    time::{absolute, absolute_or_nothing, age, clock, day},
};

const TABLE: &[Column] = &[
    left("ID"),
    left("STATE"),
    left("SEVERITY"),
    left("VERDICT"),
    left("CLUSTER"),
    left("NODE"),
    right("JOBS"),
    left("LAST SEEN"),
    left("TITLE"),
];

const WIDE: &[Column] = &[
    left("ID"),
    left("STATE"),
    left("SEVERITY"),
    left("VERDICT"),
    left("CLUSTER"),
    left("NODE"),
    left("JOBS"),
    right("EVIDENCE"),
    left("FIRST SEEN"),
    left("LAST SEEN"),
    left("TITLE"),
];

impl Row for Incident {
    fn columns(wide: bool) -> &'static [Column] {
        if wide { WIDE } else { TABLE }
    }

    fn cells(&self, wide: bool, view: View) -> Vec<Cell> {
        let mut cells = vec![
            self.id.to_string().into(),
            Cell::styled(&self.state, Style::of_state(&self.state)),
            Cell::styled(&self.severity, Style::of_state(&self.severity)),
            self.verdict.as_str().into(),
            or_dash(&self.cluster).into(),
            or_dash(&self.node).into(),
        ];
        cells.extend(if wide { wide_rest(self) } else { table_rest(self, view) });
        cells.push(self.title.as_str().into());
        cells
    }

    fn record(&self) -> Vec<(&'static str, String)> {
        let jobs: Vec<&str> = self.jobs.iter().map(|job| job.name.as_str()).collect();
        let end = self.resolved.as_ref();
        vec![
            ("id", self.id.to_string()),
            ("state", self.state.clone()),
            ("severity", self.severity.clone()),
            ("verdict", self.verdict.clone()),
            ("cluster", self.cluster.clone()),
            ("node", self.node.clone()),
            ("jobs", jobs.join(" ")),
            ("evidence", self.evidence.len().to_string()),
            ("first_seen_at", absolute(self.first_seen_at)),
            ("last_seen_at", absolute(self.last_seen_at)),
            ("title", self.title.clone()),
            ("next_step", self.next_step.clone()),
            ("resolved_at", absolute_or_nothing(end.map(|end| end.at))),
            ("resolved_by", end.map(|end| end.by.clone()).unwrap_or_default()),
            ("resolved_because", end.map(|end| end.because.clone()).unwrap_or_default()),
        ]
    }

    fn name(&self) -> String {
        self.id.to_string()
    }
}

fn table_rest(incident: &Incident, view: View) -> Vec<Cell> {
    vec![
        incident.jobs.len().to_string().into(),
        format!("{} ago", age(incident.last_seen_at, view.now)).into(),
    ]
}

fn wide_rest(incident: &Incident) -> Vec<Cell> {
    let jobs: Vec<&str> = incident.jobs.iter().map(|job| job.name.as_str()).collect();
    vec![
        or_dash(&jobs.join(" ")).into(),
        incident.evidence.len().to_string().into(),
        absolute(incident.first_seen_at).into(),
        absolute(incident.last_seen_at).into(),
    ]
}

/// One incident in full: what, why these facts belong together, whom it hit, what to do.
pub fn show(incident: &Incident, view: View) -> String {
    let state = Style::of_state(&incident.state).paint(&plain(&incident.state), view.colour);
    let severity = Style::of_state(&incident.severity).paint(&plain(&incident.severity), view.colour);
    let mut text =
        format!("{}  {state}, {severity}\n  {}\n\n", plain(&incident.title), plain(&incident.explanation));
    if let Some(end) = &incident.resolved {
        let by = if end.by.is_empty() { String::new() } else { format!(" by {}", plain(&end.by)) };
        let because = plain(&end.because);
        text.push_str(&format!(
            "  resolved {} ({} ago){by}: {because}\n\n",
            absolute(end.at),
            age(end.at, view.now)
        ));
    }
    for (label, value) in facts(incident, view) {
        text.push_str(&format!("  {label:<12}{value}\n"));
    }
    text.push_str("\nHit jobs\n");
    for job in &incident.jobs {
        text.push_str(&format!("  {}  {}\n", plain(&job.name), plain(&job.because)));
    }
    if incident.jobs.is_empty() {
        text.push_str("  none\n");
    }
    text.push_str(&evidence(incident));
    text.push_str(&format!("\nNext\n  {}\n", or_dash(&incident.next_step)));
    text
}

fn facts(incident: &Incident, view: View) -> Vec<(&'static str, String)> {
    let seen = |at| format!("{} ({} ago)", absolute(at), age(at, view.now));
    vec![
        ("id", incident.id.to_string()),
        ("verdict", plain(&incident.verdict)),
        ("cluster", or_dash(&incident.cluster)),
        ("node", or_dash(&incident.node)),
        ("first seen", seen(incident.first_seen_at)),
        ("last seen", seen(incident.last_seen_at)),
    ]
}

fn evidence(incident: &Incident) -> String {
    let mut text = format!("\nEvidence ({}, UTC)\n", day(incident.first_seen_at));
    for fact in &incident.evidence {
        text.push_str(&format!(
            "  {}  {}  [fact {}]\n",
            clock(fact.at),
            plain(&fact.sentence),
            plain(&fact.fact)
        ));
        let raw = plain(&fact.raw);
        if !raw.is_empty() && raw != plain(&fact.sentence) {
            text.push_str(&format!("            {raw}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use squadron_api::incident::{Evidence, HitJob, Resolved};
    use squadron_core::id::{IncidentId, JobId};

    use super::*;
    use crate::render::job::tests::{NOW, VIEW};

    fn oom() -> Incident {
        Incident {
            id: "0193a5a0-0000-7000-8000-0000000000e1".parse::<IncidentId>().unwrap(),
            state: "open".into(),
            verdict: "OOM_KILLED".into(),
            severity: "critical".into(),
            title: "A worker of train-17 was killed for memory".into(),
            explanation: "The kernel line and the container's end name the same pod within 2 s.".into(),
            next_step: "Raise the worker's memory limit above 2 GiB.".into(),
            cluster: "east".into(),
            node: "east-1".into(),
            jobs: vec![HitJob {
                id: "0193a5a0-0000-7000-8000-0000000000a1".parse::<JobId>().unwrap(),
                name: "train-17".into(),
                because: "its pod was killed".into(),
            }],
            evidence: vec![Evidence {
                at: NOW.plus_millis(-30_000),
                fact: "1/42".into(),
                sentence: "The kernel killed python in the pod.".into(),
                raw: "Memory cgroup out of memory: Killed process 4242 (python)\u{7}".into(),
            }],
            first_seen_at: NOW.plus_millis(-30_000),
            last_seen_at: NOW.plus_millis(-28_000),
            resolved: None,
            version: 1,
        }
    }

    #[test]
    fn incident_reads_from_cause_to_next_step() {
        insta::assert_snapshot!(show(&oom(), VIEW), @"
        A worker of train-17 was killed for memory  open, critical
          The kernel line and the container's end name the same pod within 2 s.

          id          0193a5a0-0000-7000-8000-0000000000e1
          verdict     OOM_KILLED
          cluster     east
          node        east-1
          first seen  2026-11-30T01:02:50Z (30 s ago)
          last seen   2026-11-30T01:02:52Z (28 s ago)

        Hit jobs
          train-17  its pod was killed

        Evidence (2026-11-30, UTC)
          01:02:50  The kernel killed python in the pod.  [fact 1/42]
                    Memory cgroup out of memory: Killed process 4242 (python)�

        Next
          Raise the worker's memory limit above 2 GiB.
        ");
    }

    #[test]
    fn resolved_incident_says_who_ended_it_and_why() {
        let end = Resolved {
            at: NOW.plus_millis(-5_000),
            by: "ann".into(),
            because: "the limit was raised".into(),
        };
        let by_hand = Incident { state: "resolved".into(), resolved: Some(end.clone()), ..oom() };
        let told = "\n  resolved 2026-11-30T01:03:15Z (5 s ago) by ann: the limit was raised\n";
        assert!(show(&by_hand, VIEW).contains(told), "{}", show(&by_hand, VIEW));
        let by_itself = Incident { resolved: Some(Resolved { by: String::new(), ..end }), ..by_hand };
        assert!(show(&by_itself, VIEW).contains("(5 s ago): the limit was raised"));
    }
}
