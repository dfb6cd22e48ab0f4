//! Accounts of the book's tenants: [`Account`] told the time by every decision.

use crate::dispatch::book::{Book, Millis};

impl Book {
    /// Adds what passed since the last decision.
    pub(super) fn keep_accounts(&mut self, now: Millis) {
        let span = i64::try_from(now.saturating_sub(self.decided)).unwrap_or(i64::MAX);
        self.decided = now;
        for (tenant, account) in self.accounts.iter_mut().enumerate() {
            *account = account.after(span, self.tenants.nominal(tenant));
        }
    }

    /// What everybody is owed from now on.
    pub(super) fn set_rates(&mut self) {
        let mut wanted = vec![0i64; self.accounts.len()];
        for line in &self.lines {
            let left = self.tenants.nominal(line.shape.tenant) - self.tenants.used(line.shape.tenant);
            if line.len() > 0 && line.shape.milli <= left {
                let jobs = i64::try_from(line.len()).unwrap_or(i64::MAX);
                let sum = &mut wanted[line.shape.tenant];
                *sum = sum.saturating_add(line.shape.milli.saturating_mul(jobs));
            }
        }
        for (tenant, (account, wanted)) in self.accounts.iter_mut().zip(wanted).enumerate() {
            *account = account.rated(self.tenants.nominal(tenant), self.tenants.used(tenant), wanted);
        }
    }
}
