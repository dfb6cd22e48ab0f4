//! Why: what keeps a waiting job from starting, most actionable first.

use crate::dispatch::book::{Book, Millis, Shape};

/// One reason why a job waits. Amounts are thousandths of a GPU.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// No cluster could hold it even when empty; `largest` is the most that one has of its models.
    NeverFits { largest: i64 },
    /// Its tenant may not take so much, now or ever; `available` is what it may take.
    OverQuota { available: i64 },
    /// The cluster has room but keeps it for a gang that waits longer.
    KeptFor { site: usize, job: u64, until: Millis },
    /// The cluster has room, but it was taken back from borrowers and is not lent before `until` to one that was stopped.
    NotLent { site: usize, until: Millis },
    /// The cluster has room but running jobs are being stopped there for others, and the room is theirs.
    Claimed { site: usize },
    /// The cluster has too little free.
    Full { site: usize, free: i64 },
    /// The cluster takes no work at the moment.
    Closed { site: usize },
}

impl Book {
    /// Everything that keeps jobs of this shape from starting; empty if the next decision may start one.
    pub fn why(&self, shape: Shape, now: Millis) -> Vec<Why> {
        if let Some(never) = self.never(shape) {
            return vec![never];
        }
        let available = self.tenants.available(shape.tenant);
        if available < shape.milli {
            return vec![Why::OverQuota { available }];
        }
        let mut reasons: Vec<Why> = Vec::new();
        let line = self.waiting_line(shape);
        for (site, cluster) in self.sites.iter().enumerate() {
            let free = cluster.free(shape.models);
            if !cluster.open {
                reasons.push(Why::Closed { site });
            } else if free < shape.milli {
                reasons.push(Why::Full { site, free });
            } else if self.room(site, shape) < shape.milli {
                reasons.push(Why::Claimed { site });
            } else if let Some(until) = line.and_then(|line| self.lent_from(line, site)) {
                reasons.push(Why::NotLent { site, until });
            } else if let Some(kept) = line.and_then(|line| self.kept_from(line, site, now)) {
                reasons.push(Why::KeptFor { site, job: kept.job, until: kept.expected });
            } else {
                return Vec::new();
            }
        }
        reasons.sort();
        reasons
    }

    /// The line in which jobs of this shape wait, that of those which were never stopped first.
    fn waiting_line(&self, shape: Shape) -> Option<usize> {
        let lines = self.by_shape.range((shape, 0)..=(shape, Millis::MAX)).map(|(_, line)| *line);
        lines.into_iter().find(|line| self.lines[*line].len() > 0)
    }

    /// Why no cluster could ever hold it.
    pub(super) fn never(&self, shape: Shape) -> Option<Why> {
        let largest = self.sites.iter().map(|site| site.total(shape.models)).max().unwrap_or(0);
        (largest < shape.milli).then_some(Why::NeverFits { largest })
    }
}
