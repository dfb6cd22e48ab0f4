//! Reservations: a cluster that is kept for a gang which has waited too long, so that it cannot starve.
//!
//! Only age triggers one. While it stands, others may use the cluster if they are expected to be gone when the gang is
//! expected to fit (EASY backfill), or if they fit beside it. Invariant: at most [`Terms::reservations`](super::Terms) at
//! one time, at most one on a cluster, each for the oldest starving gang that has none. Fails by a wrong prediction, which
//! makes the gang wait longer; its place in the order is not lost.

use crate::dispatch::book::{Book, Millis, Shape, rank::Class};

/// A cluster kept for the head of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reservation {
    pub job: u64,
    pub shape: Shape,
    pub(super) line: usize,
    pub site: usize,
    /// When the gang is expected to fit.
    pub expected: Millis,
    /// What others may take beyond that time, in thousandths of a GPU.
    pub beside: i64,
}

impl Book {
    /// Drops what is no longer needed, brings the rest up to date, and keeps clusters for those that starve now.
    pub(super) fn renew_reservations(&mut self, now: Millis) {
        let old = std::mem::take(&mut self.reservations);
        // What a reservation kept may be free for others once it moves or goes.
        self.released |= !old.is_empty();
        for reservation in old {
            let still = self.lines[reservation.line].head().is_some_and(|(_, job)| job == reservation.job);
            if still {
                let fresh = self.reservation_on(reservation.line, reservation.job, reservation.site, now);
                self.reservations.extend(fresh);
            }
        }
        while self.reservations.len() < self.terms.reservations {
            let Some(reservation) = self.most_starving(now).and_then(|line| self.best_reservation(line, now))
            else {
                return;
            };
            self.reservations.push(reservation);
        }
    }

    /// When the next head will have waited long enough, or room that was taken back has cooled, if nothing else happens before.
    pub fn wake(&self, now: Millis) -> Option<Millis> {
        let open = self.reservations.len() < self.terms.reservations;
        let due = (0..self.lines.len()).filter(|_| open).filter_map(|line| self.starves_at(line));
        due.filter(|at| *at > now).chain(self.next_cooled(now)).min()
    }

    fn most_starving(&self, now: Millis) -> Option<usize> {
        let starving = (0..self.lines.len()).filter_map(|line| {
            let (submitted, job) = self.lines[line].head()?;
            let due = self.starves_at(line).is_some_and(|at| at <= now);
            let held = self.reservations.iter().any(|reservation| reservation.line == line);
            (due && !held).then(|| (self.class(line), submitted, job, line))
        });
        starving.min().map(|(.., line)| line)
    }

    /// When the head of a line may have a cluster kept for it. Single GPUs never do: any GPU that comes free is theirs.
    fn starves_at(&self, line: usize) -> Option<Millis> {
        let (submitted, _) = self.lines[line].head()?;
        let milli = u64::try_from(self.lines[line].shape.milli).unwrap_or(0);
        let large = u64::try_from(self.terms.large).unwrap_or(0).max(1);
        if milli <= 1_000 {
            return None;
        }
        let patience = match self.class(line) {
            Class::Borrowing => self.terms.reserve_borrowing,
            Class::Guaranteed | Class::Reserved => self.terms.reserve_guaranteed,
        };
        Some(submitted.saturating_add(patience.saturating_mul(large) / milli.min(large)))
    }

    /// On the cluster where the head is expected to fit first.
    fn best_reservation(&self, line: usize, now: Millis) -> Option<Reservation> {
        let (_, job) = self.lines[line].head()?;
        (0..self.sites.len())
            .filter(|site| self.reservations.iter().all(|other| other.site != *site))
            .filter_map(|site| self.reservation_on(line, job, site, now))
            .min_by_key(|found| (found.expected, found.beside, found.site))
    }

    pub(super) fn reservation_on(
        &self,
        line: usize,
        job: u64,
        site: usize,
        now: Millis,
    ) -> Option<Reservation> {
        let shape = self.lines[line].shape;
        let open = self.sites[site].open && self.tenants.allowed(shape.tenant) >= shape.milli;
        let (expected, beside) = self.sites[site].expected(shape, now).filter(|_| open)?;
        Some(Reservation { job, shape, line, site, expected, beside })
    }

    /// The reservation that keeps a line off a cluster, if one does.
    pub(super) fn kept_from(&self, line: usize, site: usize, now: Millis) -> Option<&Reservation> {
        let reservation = self.reservations.iter().find(|reservation| reservation.site == site)?;
        let shape = self.lines[line].shape;
        if reservation.line == line || shape.models & reservation.shape.models == 0 {
            return None;
        }
        let runs = self.predict(shape).millis;
        let gone_by_then = now.saturating_add(runs) <= reservation.expected;
        let beside = shape.milli <= reservation.beside;
        (!gone_by_then && !beside).then_some(reservation)
    }
}
