//! Jobs in lists.

use squadron_api::job::Job;

use super::{
    View,
    amount::{cores, memory},
    list::Row,
    or_dash, plain,
    style::Style,
    table::{Cell, Column, left, right},
    time::{absolute, absolute_or_dash, absolute_or_nothing, age, span},
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

    fn record(&self) -> Vec<(&'static str, String)> {
        vec![
            ("id", self.id.to_string()),
            ("name", self.name.clone()),
            ("namespace", self.namespace.clone()),
            ("queue", self.queue.clone()),
            ("cluster", self.cluster.clone().unwrap_or_default()),
            ("state", self.state.to_string()),
            ("stale_since", absolute_or_nothing(self.stale_since)),
            ("reason", self.reason.clone()),
            ("attempt", self.attempt.to_string()),
            ("owner", self.owner.clone()),
            ("cpu_cores", cores(self.requests.cpu_milli)),
            ("memory_bytes", self.requests.memory_bytes.to_string()),
            ("gpus", self.requests.gpus.to_string()),
            ("submitted_at", absolute(self.submitted_at)),
            ("started_at", absolute_or_nothing(self.started_at)),
            ("ended_at", absolute_or_nothing(self.ended_at)),
            ("sentence", self.sentence.clone()),
        ]
    }

    /// The id: several jobs may carry one name, and a name would mean the newest of them.
    fn name(&self) -> String {
        self.id.to_string()
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

/// The job's sentence, with the state's word in front where the sentence does not begin with it.
pub fn state_sentence(job: &Job) -> String {
    let (word, sentence) = (job.state.word(), plain(&job.sentence));
    match sentence.as_str() {
        "" => word.to_owned(),
        text if text.starts_with(word) => sentence,
        _ => format!("{word}: {sentence}"),
    }
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
    pub const VIEW: View = View { now: NOW, colour: false, width: None };

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
            priority_class: None,
            priority: 0,
            on_lost: "wait".into(),
            on_lost_because: "the job names no checkpoint".into(),
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
        insta::assert_snapshot!(list(&three(), ListFormat::Table, VIEW), @"
        NAME       QUEUE      CLUSTER   STATUS                  REASON       CPU   GPU   AGE    RUNTIME    OWNER
        train-17   research   east      running (unheard 6 m)   -            2.5     8   10 m   4 m 05 s   ada
        eval       research   -         queued                  -            2.5     8   10 m   -          ada
        prep       research   east      failed                  OOM_KILLED   2.5     8   10 m   4 m 05 s   ada
        ");
    }

    #[test]
    fn csv_has_absolute_times_and_one_header() {
        insta::assert_snapshot!(list(&three(), ListFormat::Csv, VIEW).replace('\r', ""), @"
        id,name,namespace,queue,cluster,state,stale_since,reason,attempt,owner,cpu_cores,memory_bytes,gpus,submitted_at,started_at,ended_at,sentence
        0193a5a0-0000-7000-8000-0000000000a1,train-17,default,research,east,running,2026-11-30T00:57:20Z,,1,ada,2.5,5368709120,8,2026-11-30T00:53:20Z,2026-11-30T00:59:15Z,,Ray runs the driver.
        0193a5a0-0000-7000-8000-0000000000a1,eval,default,research,,queued,,,1,ada,2.5,5368709120,8,2026-11-30T00:53:20Z,,,Ray runs the driver.
        0193a5a0-0000-7000-8000-0000000000a1,prep,default,research,east,failed,,OOM_KILLED,1,ada,2.5,5368709120,8,2026-11-30T00:53:20Z,2026-11-30T00:59:15Z,2026-11-30T01:03:20Z,Ray runs the driver.
        ");
    }

    #[test]
    fn ids_stand_alone_and_json_is_the_answer_itself() {
        assert_eq!(
            list(&three(), ListFormat::Name, VIEW),
            "0193a5a0-0000-7000-8000-0000000000a1\n".repeat(3)
        );
        let json: Page<Job> = serde_json::from_str(&list(&three(), ListFormat::Json, VIEW)).unwrap();
        assert_eq!(json.items.len(), 3);
        assert_eq!(list(&three(), ListFormat::Jsonl, VIEW).lines().count(), 3);
        assert_eq!(list(&page(vec![]), ListFormat::Table, VIEW), "");
    }
}
