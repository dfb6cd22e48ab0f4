//! Jobs in lists.

use squadron_api::job::Job;

use super::{
    View,
    amount::{cores, memory},
    list::Row,
    or_dash,
    style::Style,
    table::{Cell, Column, left, right},
    time::{absolute, absolute_or_dash, age, span},
};

const TABLE: &[Column] = &[
    left("NAME"),
    left("QUEUE"),
    left("CLUSTER"),
    left("STATUS"),
    left("REASON"),
    right("CPU"),
    right("GPU"),
    left("AGE"),
    left("RUNTIME"),
    left("OWNER"),
];

const WIDE: &[Column] = &[
    left("NAME"),
    left("NAMESPACE"),
    left("QUEUE"),
    left("CLUSTER"),
    left("STATUS"),
    left("REASON"),
    right("CPU"),
    right("MEMORY"),
    right("GPU"),
    right("ATTEMPT"),
    left("SUBMITTED"),
    left("STARTED"),
    left("ENDED"),
    left("RUNTIME"),
    left("OWNER"),
    left("ID"),
    left("SENTENCE"),
];

impl Row for Job {
    fn columns(wide: bool) -> &'static [Column] {
        if wide { WIDE } else { TABLE }
    }

    fn cells(&self, wide: bool, view: View) -> Vec<Cell> {
        if wide { wide_cells(self, view) } else { table_cells(self, view) }
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

fn table_cells(job: &Job, view: View) -> Vec<Cell> {
    vec![
        job.name.as_str().into(),
        job.queue.as_str().into(),
        cluster(job),
        status(job, view),
        or_dash(&job.reason).into(),
        cores(job.requests.cpu_milli).into(),
        job.requests.gpus.to_string().into(),
        age(job.submitted_at, view.now).into(),
        runtime(job, view),
        job.owner.as_str().into(),
    ]
}

fn wide_cells(job: &Job, view: View) -> Vec<Cell> {
    vec![
        job.name.as_str().into(),
        job.namespace.as_str().into(),
        job.queue.as_str().into(),
        cluster(job),
        status(job, view),
        or_dash(&job.reason).into(),
        cores(job.requests.cpu_milli).into(),
        memory(job.requests.memory_bytes).into(),
        job.requests.gpus.to_string().into(),
        job.attempt.to_string().into(),
        absolute(job.submitted_at).into(),
        absolute_or_dash(job.started_at).into(),
        absolute_or_dash(job.ended_at).into(),
        runtime(job, view),
        job.owner.as_str().into(),
        job.id.to_string().into(),
        job.sentence.as_str().into(),
    ]
}

fn cluster(job: &Job) -> Cell {
    or_dash(job.cluster.as_deref().unwrap_or_default()).into()
}

/// The state's word, and how old it is where the cluster is silent.
fn status(job: &Job, view: View) -> Cell {
    let word = job.state.word();
    match job.stale_since {
        None => Cell::styled(word, Style::of_state(word)),
        Some(since) => Cell::styled(&format!("{word} (unheard {})", age(since, view.now)), Style::Waiting),
    }
}

/// From the driver's start to its end or to now; a dash while it has not started.
fn runtime(job: &Job, view: View) -> Cell {
    let running = |start| span(job.ended_at.unwrap_or(view.now).millis_since(start));
    job.started_at.map_or_else(|| "-".into(), running).into()
}

#[cfg(test)]
pub mod tests {
    #![allow(clippy::unwrap_used)]
    use squadron_api::Page;
    use squadron_core::{id::JobId, job::JobState, resources::Resources, time::Timestamp};

    use super::*;
    use crate::render::list::{ListFormat, list};

    pub const NOW: Timestamp = Timestamp(1_796_000_600_000_000);
    pub const VIEW: View = View { now: NOW, colour: false };

    pub fn job(name: &str, state: JobState) -> Job {
        Job {
            id: "0193a5a0-0000-7000-8000-0000000000a1".parse::<JobId>().unwrap(),
            name: name.into(),
            namespace: "default".into(),
            queue: "research".into(),
            state,
            reason: String::new(),
            sentence: "Ray runs the driver.".into(),
            cluster: Some("east".into()),
            attempt: 1,
            owner: "ada".into(),
            requests: Resources { cpu_milli: 2_500, memory_bytes: 5 << 30, gpus: 8 },
            submitted_at: NOW.plus_millis(-600_000),
            started_at: Some(NOW.plus_millis(-245_000)),
            ended_at: None,
            version: 7,
            stale_since: None,
        }
    }

    pub fn page(items: Vec<Job>) -> Page<Job> {
        Page { items, next_page_token: None, as_of: NOW, partial: None }
    }

    fn three() -> Page<Job> {
        let stale =
            Job { stale_since: Some(NOW.plus_millis(-360_000)), ..job("train-17", JobState::Running) };
        let waiting = Job { cluster: None, started_at: None, ..job("eval", JobState::Queued) };
        let ended = Job { reason: "OOM_KILLED".into(), ended_at: Some(NOW), ..job("prep", JobState::Failed) };
        page(vec![stale, waiting, ended])
    }

    #[test]
    fn table_shows_state_age_and_how_old_the_word_is() {
        insta::assert_snapshot!(list(&three(), ListFormat::Table, VIEW), @"");
    }

    #[test]
    fn csv_has_absolute_times_and_one_header() {
        insta::assert_snapshot!(list(&three(), ListFormat::Csv, VIEW).replace('\r', ""), @"");
    }

    #[test]
    fn names_stand_alone_and_json_is_the_answer_itself() {
        assert_eq!(list(&three(), ListFormat::Name, VIEW), "train-17\neval\nprep\n");
        let json: Page<Job> = serde_json::from_str(&list(&three(), ListFormat::Json, VIEW)).unwrap();
        assert_eq!(json.items.len(), 3);
        assert_eq!(list(&three(), ListFormat::Jsonl, VIEW).lines().count(), 3);
        assert_eq!(list(&page(vec![]), ListFormat::Table, VIEW), "");
    }
}
