//! Strangers at the door: connections that have not proven who they are, counted by address.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Counts strangers by address and turns away those beyond the limit. Cheap to clone.
#[derive(Clone)]
pub struct Doorman {
    limit: usize,
    strangers: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

impl Doorman {
    /// At most `limit` strangers of one address at once.
    pub fn new(limit: usize) -> Doorman {
        Doorman { limit, strangers: Arc::default() }
    }

    /// A visit, unless the address already has as many strangers as it may.
    pub fn admit(&self, from: IpAddr) -> Option<Visit> {
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        let count = strangers.entry(from).or_default();
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        let known = AtomicBool::new(false);
        Some(Visit(Arc::new(Stay { from, known, doorman: Some(self.clone()) })))
    }

    fn forget(&self, from: IpAddr) {
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = strangers.get_mut(&from) {
            *count -= 1;
            if *count == 0 {
                strangers.remove(&from);
            }
        }
    }
}

/// One connection's stay. Cheap to clone; a stranger is counted until the last clone goes.
#[derive(Clone)]
pub struct Visit(Arc<Stay>);

struct Stay {
    from: IpAddr,
    known: AtomicBool,
    doorman: Option<Doorman>,
}

impl Visit {
    /// A visit that nobody counts.
    pub fn unwatched(from: IpAddr) -> Visit {
        Visit(Arc::new(Stay { from, known: AtomicBool::new(true), doorman: None }))
    }

    pub fn from(&self) -> IpAddr {
        self.0.from
    }

    /// It has proven who it is: it counts no longer and may stay.
    pub fn become_known(&self) {
        if !self.0.known.swap(true, Ordering::SeqCst) {
            self.0.leave_strangers();
        }
    }

    pub fn is_known(&self) -> bool {
        self.0.known.load(Ordering::SeqCst)
    }
}

impl Stay {
    fn leave_strangers(&self) {
        if let Some(doorman) = &self.doorman {
            doorman.forget(self.from);
        }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        if !self.known.load(Ordering::SeqCst) {
            self.leave_strangers();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a59_the_limit_bites_strangers_only() {
        let doorman = Doorman::new(2);
        let (here, there) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let (first, second) = (doorman.admit(here).unwrap(), doorman.admit(here).unwrap());
        assert!(doorman.admit(here).is_none());
        assert!(doorman.admit(there).is_some());
        first.become_known();
        first.become_known();
        let third = doorman.admit(here).unwrap();
        assert!(doorman.admit(here).is_none(), "becoming known twice frees one place");
        drop((first, second, third));
        assert!(doorman.strangers.lock().unwrap().is_empty(), "nothing is remembered of those who left");
    }
}
