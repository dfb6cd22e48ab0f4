//! Prediction: how long a job will run, from what ended before it.
//!
//! Owns the rolling windows and how far off they were. A prediction is the median of the last twenty finished attempts of
//! the same tenant, gang size and, in the running control plane, program; while those are few, of the tenant, then of
//! everyone. Invariant: it depends on finished attempts and their order alone, never on a job that still runs. Fails by being
//! wrong, which is why the error is kept beside it; repaired by the next jobs that end.

use std::collections::{BTreeMap, VecDeque};

/// Finished attempts that a window remembers.
const WINDOW: usize = 20;
/// Attempts that a window needs before it is believed.
const ENOUGH: usize = 3;
/// Before anything ended, in milliseconds: an hour.
const UNKNOWN_MS: u64 = 3_600_000;

/// The run time of a job that was stopped, rounded up to a power of two, so that equal jobs stay equal. In milliseconds.
pub fn about(ran_millis: u64) -> u64 {
    ran_millis.max(1).next_power_of_two()
}

/// How long a job is expected to run that was stopped after so long: it has shown that it is a long one. In milliseconds.
pub fn outlasting(ran_millis: u64) -> u64 {
    ran_millis.saturating_mul(8)
}

/// What prediction goes by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Kind {
    pub tenant: usize,
    pub gpus: u32,
}

/// Where a prediction came from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Basis {
    /// The job's owner said so.
    Declared,
    /// Attempts of the same tenant and gang size.
    Kind,
    /// Attempts of the tenant.
    Tenant,
    /// Attempts of everyone.
    Everyone,
    /// Nothing ended yet.
    Nothing,
}

/// How long a job will run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prediction {
    /// The median.
    pub millis: u64,
    /// Nine of ten ended by then, in the same window.
    pub late_millis: u64,
    pub basis: Basis,
}

/// All windows.
#[derive(Clone, Default, Debug)]
pub struct History {
    kinds: BTreeMap<Kind, Window>,
    tenants: BTreeMap<usize, Window>,
    everyone: Window,
    errors: Errors,
}

/// How far off predictions were.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Errors {
    pub judged: u64,
    /// Those that ran between half and twice what was predicted.
    pub within_twice: u64,
    /// Those that ended by `late_millis`; nine of ten would be exact.
    pub by_late: u64,
}

impl History {
    pub fn predict(&self, kind: Kind) -> Prediction {
        let windows = [
            (self.kinds.get(&kind), Basis::Kind),
            (self.tenants.get(&kind.tenant), Basis::Tenant),
            (Some(&self.everyone), Basis::Everyone),
        ];
        let found = windows.iter().find_map(|(window, basis)| {
            window.filter(|window| window.is_enough()).map(|window| (window, *basis))
        });
        match found {
            Some((window, basis)) => {
                Prediction { millis: window.median(), late_millis: window.late(), basis }
            }
            None => Prediction { millis: UNKNOWN_MS, late_millis: UNKNOWN_MS * 10, basis: Basis::Nothing },
        }
    }

    /// The median; `None` before anything like it ended.
    pub fn expected(&self, kind: Kind) -> Option<u64> {
        let found = self.predict(kind);
        (found.basis != Basis::Nothing).then_some(found.millis)
    }

    /// Learns from an attempt that ended, and judges what was said when it started.
    pub fn ended(&mut self, kind: Kind, ran_millis: u64, said: Prediction) {
        self.errors.judge(ran_millis, said);
        self.kinds.entry(kind).or_default().push(ran_millis);
        self.tenants.entry(kind.tenant).or_default().push(ran_millis);
        self.everyone.push(ran_millis);
    }

    pub fn errors(&self) -> Errors {
        self.errors
    }
}

impl Errors {
    fn judge(&mut self, ran: u64, said: Prediction) {
        self.judged += 1;
        let near = ran.saturating_mul(2) >= said.millis && ran <= said.millis.saturating_mul(2);
        self.within_twice += u64::from(near);
        self.by_late += u64::from(ran <= said.late_millis);
    }
}

/// Run times of the last attempts of one kind, both as they came and sorted, and how far off their median was.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Window {
    order: VecDeque<u64>,
    sorted: Vec<u64>,
    /// Of every attempt that ended while the window was believed.
    pub errors: Errors,
}

impl Window {
    /// The window after these run times, in milliseconds, the oldest first.
    pub fn of(ran: impl IntoIterator<Item = u64>, errors: Errors) -> Window {
        let mut window = Window { errors, ..Window::default() };
        ran.into_iter().for_each(|millis| window.push(millis));
        window
    }

    /// The run times that it remembers, the oldest first.
    pub fn last(&self) -> impl Iterator<Item = u64> + '_ {
        self.order.iter().copied()
    }

    /// The median, as soon as enough attempts ended to believe it.
    pub fn expected(&self) -> Option<u64> {
        self.is_enough().then(|| self.median())
    }

    /// Judges what it would have said of an attempt that ended, and learns from it.
    pub fn learn(&mut self, ran_millis: u64) {
        if self.is_enough() {
            let said = Prediction { millis: self.median(), late_millis: self.late(), basis: Basis::Kind };
            self.errors.judge(ran_millis, said);
        }
        self.push(ran_millis);
    }

    fn is_enough(&self) -> bool {
        self.order.len() >= ENOUGH
    }

    fn push(&mut self, millis: u64) {
        if self.order.len() == WINDOW
            && let Some(oldest) = self.order.pop_front()
            && let Ok(at) = self.sorted.binary_search(&oldest)
        {
            self.sorted.remove(at);
        }
        self.order.push_back(millis);
        let at = self.sorted.partition_point(|known| *known < millis);
        self.sorted.insert(at, millis);
    }

    fn median(&self) -> u64 {
        self.at(self.sorted.len() / 2)
    }

    fn late(&self) -> u64 {
        self.at(self.sorted.len() * 9 / 10)
    }

    fn at(&self, index: usize) -> u64 {
        self.sorted.get(index).copied().unwrap_or(UNKNOWN_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(history: &History, tenant: usize, gpus: u32) -> (u64, Basis) {
        let prediction = history.predict(Kind { tenant, gpus });
        (prediction.millis, prediction.basis)
    }

    fn learn(history: &mut History, tenant: usize, gpus: u32, runs: &[u64]) {
        for ran in runs {
            let kind = Kind { tenant, gpus };
            history.ended(kind, *ran, history.predict(kind));
        }
    }

    #[test]
    fn falls_back_from_kind_to_tenant_to_everyone() {
        let mut history = History::default();
        assert_eq!(said(&history, 1, 8), (UNKNOWN_MS, Basis::Nothing));
        learn(&mut history, 1, 8, &[100, 300, 200]);
        assert_eq!(said(&history, 1, 8), (200, Basis::Kind));
        assert_eq!(said(&history, 1, 1), (200, Basis::Tenant));
        assert_eq!(said(&history, 2, 8), (200, Basis::Everyone));
    }

    #[test]
    fn only_the_last_twenty_count() {
        let mut history = History::default();
        learn(&mut history, 1, 1, &[9_999; 30]);
        learn(&mut history, 1, 1, &[5; 20]);
        assert_eq!(said(&history, 1, 1), (5, Basis::Kind));
        assert_eq!(history.predict(Kind { tenant: 1, gpus: 1 }).late_millis, 5);
    }

    #[test]
    fn a_window_that_was_written_down_goes_on_as_if_it_had_not_been() {
        let mut kept = Window::default();
        for ran in [40, 10, 900, 30, 35] {
            let mut read = Window::of(kept.last().collect::<Vec<_>>(), kept.errors);
            kept.learn(ran);
            read.learn(ran);
            assert_eq!(kept, read);
        }
        assert_eq!(kept.expected(), Some(35));
        assert_eq!(kept.errors, Errors { judged: 2, within_twice: 2, by_late: 2 });
        assert_eq!(Window::of([5, 6], Errors::default()).expected(), None, "two are not enough");
    }

    #[test]
    fn errors_are_kept() {
        let mut history = History::default();
        learn(&mut history, 1, 1, &[100, 100, 100, 150, 900]);
        let errors = history.errors();
        assert_eq!((errors.judged, errors.within_twice, errors.by_late), (5, 1, 3));
    }
}
