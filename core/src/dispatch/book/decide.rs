//! Deciding: the best head that fits, again and again, until none does.

use crate::dispatch::book::{
    Because, Book, Millis, Start,
    rank::{Class, Rank, score},
};

impl Book {
    /// Places everything that can be placed now, in order.
    pub fn decide(&mut self, now: Millis) -> Vec<Start> {
        self.keep_accounts(now);
        self.forget_cooled(now);
        let mut starts = self.honour_claims(now);
        self.renew_reservations(now);
        while let Some((line, site)) = self.next(now) {
            let because = self.because(line, site, now);
            let Some(start) = self.start(line, site, because, now) else { break };
            starts.push(start);
            if self.reservations.iter().any(|kept| kept.site == site || kept.line == line) {
                self.renew_reservations(now);
            }
        }
        self.released = false;
        self.touched.clear();
        self.set_rates();
        starts
    }

    /// The first head in order that fits somewhere, with its cluster.
    fn next(&self, now: Millis) -> Option<(usize, usize)> {
        let most = self.sites.iter().filter(|site| site.open).map(|site| site.free(u64::MAX)).max()?;
        let mut best: Option<(Rank, usize, usize)> = None;
        let mut consider = |line: usize| {
            if self.lines[line].shape.milli > most {
                return;
            }
            let Some(rank) = self.rank(line, now) else { return };
            if best.as_ref().is_some_and(|(known, ..)| !rank.before(known)) {
                return;
            }
            if let Some(site) = self.best_site(line, now) {
                best = Some((rank, line, site));
            }
        };
        if self.released || !self.reservations.is_empty() {
            (0..self.lines.len()).for_each(&mut consider);
        } else {
            self.touched.iter().copied().for_each(&mut consider);
        }
        best.map(|(_, line, site)| (line, site))
    }

    /// Best fit: the cluster that has least left afterwards, the smaller one where that is equal.
    fn best_site(&self, line: usize, now: Millis) -> Option<usize> {
        let shape = self.lines[line].shape;
        if self.tenants.available(shape.tenant) < shape.milli {
            return None;
        }
        let fits = self.sites.iter().enumerate().filter_map(|(index, site)| {
            let left = self.room(index, shape) - shape.milli;
            let open =
                site.open && left >= self.not_lent(line, index) && self.kept_from(line, index, now).is_none();
            open.then(|| (left, site.total(shape.models), index))
        });
        fits.min().map(|(.., index)| index)
    }

    /// The place of a line's head in the order.
    pub(super) fn rank(&self, line: usize, now: Millis) -> Option<Rank> {
        let (submitted, job) = self.lines[line].head()?;
        let shape = self.lines[line].shape;
        let class = self.class(line);
        let predicted = self.predict_line(line).millis;
        let waited = now.saturating_sub(submitted);
        // The guarantee is free; only what goes beyond it presses.
        let pressure = self.tenants.pressure(shape.tenant, shape.milli);
        let score = score(&self.terms, shape, predicted, waited, pressure);
        Some(Rank { class, score, submitted, job })
    }

    pub(super) fn class(&self, line: usize) -> Class {
        let shape = self.lines[line].shape;
        let reserved = self.reservations.iter().any(|kept| kept.line == line);
        if reserved {
            Class::Reserved
        } else if self.tenants.within_guarantee(shape.tenant, shape.milli) {
            Class::Guaranteed
        } else {
            Class::Borrowing
        }
    }

    pub(super) fn because(&self, line: usize, site: usize, now: Millis) -> Because {
        let shape = self.lines[line].shape;
        let submitted = self.lines[line].head().map_or(now, |(submitted, _)| submitted);
        Because {
            class: self.class(line),
            waited: now.saturating_sub(submitted),
            predicted: self.predict_line(line),
            pressure: self.tenants.pressure(shape.tenant, shape.milli),
            left: self.sites[site].free(shape.models) - shape.milli,
        }
    }
}
