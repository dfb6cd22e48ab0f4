//! Site: what a cluster has free, which of its pools a gang takes, and when enough will be free.

use std::collections::BTreeMap;

use crate::dispatch::book::{Millis, Shape};

/// Equal GPUs of one cluster. Amounts are thousandths of a GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    /// Number of the model in the fleet, below 64.
    pub model: u32,
    pub total: i64,
    pub free: i64,
}

/// Capacity taken from one pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    pub pool: usize,
    pub milli: i64,
}

/// A cluster.
#[derive(Clone, Debug)]
pub struct Site {
    pub name: String,
    pub pools: Vec<Pool>,
    /// Heard of lately and not cordoned.
    pub open: bool,
    holds: BTreeMap<u64, (Hold, Vec<Part>)>,
}

/// How long a running job is expected to stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    pub(super) since: Millis,
    pub(super) ends: Millis,
}

impl Hold {
    /// A job that outlived its prediction is expected to run as long again as it has.
    fn expected(self, now: Millis) -> Millis {
        if self.ends > now { self.ends } else { now.saturating_add(now.saturating_sub(self.since)) }
    }
}

impl Site {
    pub fn new(name: String, pools: Vec<Pool>) -> Self {
        Site { name, pools, open: true, holds: BTreeMap::new() }
    }

    /// Free for jobs that may use these models.
    pub fn free(&self, models: u64) -> i64 {
        self.usable(models).map(|(_, pool)| pool.free).sum()
    }

    /// All that jobs of these models could ever get.
    pub fn total(&self, models: u64) -> i64 {
        self.usable(models).map(|(_, pool)| pool.total).sum()
    }

    fn usable(&self, models: u64) -> impl Iterator<Item = (usize, &Pool)> {
        self.pools.iter().enumerate().filter(move |(_, pool)| models >> pool.model & 1 == 1)
    }

    /// Best fit: the fullest pool that takes the whole gang, else the fullest pools one after another.
    pub fn best_parts(&self, shape: Shape) -> Vec<Part> {
        let mut pools: Vec<(i64, usize)> =
            self.usable(shape.models).map(|(index, pool)| (pool.free, index)).collect();
        pools.sort_unstable();
        if let Some((_, pool)) = pools.iter().find(|(free, _)| *free >= shape.milli) {
            return vec![Part { pool: *pool, milli: shape.milli }];
        }
        let mut wanted = shape.milli;
        let mut parts = Vec::new();
        for (free, pool) in pools.into_iter().rev() {
            let milli = free.min(wanted);
            if milli > 0 {
                parts.push(Part { pool, milli });
                wanted -= milli;
            }
        }
        parts
    }

    /// What runs here on these models, with what each holds of them.
    pub(super) fn jobs(&self, models: u64) -> impl Iterator<Item = (u64, i64)> {
        let held = self.holds.iter().map(move |(job, (_, parts))| (*job, self.usable_of(parts, models)));
        held.filter(|(_, milli)| *milli > 0)
    }

    pub(super) fn take(&mut self, job: u64, parts: &[Part], hold: Hold) {
        for part in parts {
            self.pools[part.pool].free -= part.milli;
        }
        self.holds.insert(job, (hold, parts.to_vec()));
    }

    pub(super) fn release(&mut self, job: u64, parts: &[Part]) {
        for part in parts {
            self.pools[part.pool].free += part.milli;
        }
        self.holds.remove(&job);
    }

    /// When `shape` is expected to fit, and what is expected to be free beside it then.
    pub(super) fn expected(&self, shape: Shape, now: Millis) -> Option<(Millis, i64)> {
        let mut free = self.free(shape.models);
        if free >= shape.milli {
            return Some((now, free - shape.milli));
        }
        let mut ends: Vec<(Millis, i64)> = self
            .holds
            .values()
            .map(|(hold, parts)| (hold.expected(now), self.usable_of(parts, shape.models)))
            .filter(|(_, milli)| *milli > 0)
            .collect();
        ends.sort_unstable();
        for (at, milli) in ends {
            free += milli;
            if free >= shape.milli {
                return Some((at, free - shape.milli));
            }
        }
        None
    }

    fn usable_of(&self, parts: &[Part], models: u64) -> i64 {
        parts
            .iter()
            .filter(|part| models >> self.pools[part.pool].model & 1 == 1)
            .map(|part| part.milli)
            .sum()
    }
}
