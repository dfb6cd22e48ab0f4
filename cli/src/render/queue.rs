//! Queues, and the jobs that wait in them, in lists.

use squadron_api::{placement::WaitingJob, queue::Queue};

use super::{
    View,
    amount::{cores, resources},
    list::Row,
    or_dash,
    table::{Cell, Column, left, right},
    time::{absolute, absolute_or_dash, absolute_or_nothing, age},
};

const COLUMNS: &[Column] = &[left("NAME"), right("QUEUED"), right("RUNNING"), left("TEMPLATE")];

impl Row for Queue {
    fn columns(_wide: bool) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, _wide: bool, _view: View) -> Vec<Cell> {
        let template = if self.template.is_empty() { "default" } else { "own" };
        let (queued, running) = (self.queued.to_string(), self.running.to_string());
        vec![self.name.as_str().into(), queued.into(), running.into(), template.into()]
    }

    fn record(&self) -> Vec<(&'static str, String)> {
        let (queued, running) = (self.queued.to_string(), self.running.to_string());
        vec![("name", self.name.clone()), ("queued", queued), ("running", running)]
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

const LINE: &[Column] = &[
    right("PLACE"),
    left("NAME"),
    left("ASKS"),
    left("WAITS"),
    left("SINCE"),
    left("CODE"),
    left("ID"),
    left("WHY"),
];

impl Row for WaitingJob {
    fn columns(_wide: bool) -> &'static [Column] {
        LINE
    }

    fn cells(&self, wide: bool, view: View) -> Vec<Cell> {
        let (waits, since) = match wide {
            true => (absolute(self.submitted_at), absolute_or_dash(self.since)),
            false => (
                age(self.submitted_at, view.now),
                self.since.map_or_else(|| "-".to_owned(), |since| age(since, view.now)),
            ),
        };
        vec![
            self.position.map_or_else(|| "-".to_owned(), |place| place.to_string()).into(),
            self.name.as_str().into(),
            resources(self.requests).into(),
            waits.into(),
            since.into(),
            or_dash(&self.code).into(),
            self.id.to_string().into(),
            self.sentence.as_str().into(),
        ]
    }

    fn record(&self) -> Vec<(&'static str, String)> {
        vec![
            ("position", self.position.map(|place| place.to_string()).unwrap_or_default()),
            ("id", self.id.to_string()),
            ("name", self.name.clone()),
            ("owner", self.owner.clone()),
            ("cpu_cores", cores(self.requests.cpu_milli)),
            ("memory_bytes", self.requests.memory_bytes.to_string()),
            ("gpus", self.requests.gpus.to_string()),
            ("submitted_at", absolute(self.submitted_at)),
            ("since", absolute_or_nothing(self.since)),
            ("code", self.code.clone()),
            ("sentence", self.sentence.clone()),
        ]
    }

    fn name(&self) -> String {
        self.id.to_string()
    }
}
