//! Permissions of arrivals in lists, and where a job came from.

use squadron_api::arrival::{AllowedQueue, JobSource};

use super::{
    View,
    list::Row,
    plain,
    table::{Cell, Column, left, right},
    time::{absolute, age},
};

const COLUMNS: &[Column] = &[left("NAMESPACE"), left("QUEUE"), left("ALLOWED BY"), right("AGE")];

impl Row for AllowedQueue {
    fn columns(_wide: bool) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, wide: bool, view: View) -> Vec<Cell> {
        let at = if wide { absolute(self.allowed_at) } else { age(self.allowed_at, view.now) };
        vec![
            self.namespace.as_str().into(),
            self.queue.as_str().into(),
            self.allowed_by.as_str().into(),
            at.into(),
        ]
    }

    fn record(&self) -> Vec<(&'static str, String)> {
        vec![
            ("namespace", self.namespace.clone()),
            ("queue", self.queue.clone()),
            ("allowed_by", self.allowed_by.clone()),
            ("allowed_at", absolute(self.allowed_at)),
        ]
    }

    fn name(&self) -> String {
        format!("{} {}", self.namespace, self.queue)
    }
}

/// `by kubectl in east/ml/train`.
pub fn arrived(source: &JobSource) -> String {
    let gone = source.gone_at.map_or_else(String::new, |at| format!(", gone since {}", absolute(at)));
    format!(
        "by kubectl in {}/{}/{}{gone}",
        plain(&source.cluster),
        plain(&source.namespace),
        plain(&source.name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_reads_as_a_place() {
        let mut source = JobSource {
            cluster: "east".into(),
            namespace: "ml".into(),
            name: "train".into(),
            uid: "u".into(),
            gone_at: None,
        };
        assert_eq!(arrived(&source), "by kubectl in east/ml/train");
        source.gone_at = Some(squadron_core::time::Timestamp(0));
        assert_eq!(arrived(&source), "by kubectl in east/ml/train, gone since 1970-01-01T00:00:00Z");
    }
}
