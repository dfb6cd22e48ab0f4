//! Queues in lists.

use squadron_api::queue::Queue;

use super::{
    View,
    list::Row,
    table::{Cell, Column, left, right},
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
