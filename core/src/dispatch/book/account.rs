//! Account: how far each tenant has been below its guarantee while it waited.
//!
//! Owns two sums per tenant, in thousandths of a GPU times milliseconds: what it was owed and what of that it did not have.
//! It is owed its guarantee, but no more than what it uses and what its waiting jobs would add that fit into the rest of
//! it. Invariant: the sums cover about the last week of the guarantee, because both are halved when they pass that.
//! Fails by never being told the time, which reads as nothing owed.

use crate::dispatch::{
    book::{Book, Millis},
    tenants::Tenants,
};

/// Milliseconds of the guarantee that an account remembers.
const MEMORY: i128 = 7 * 24 * 3_600_000;

/// Sums and rates of one tenant.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Account {
    owed: i128,
    missing: i128,
    owed_now: i64,
    missing_now: i64,
}

impl Account {
    fn advance(&mut self, span: Millis, guarantee: i64) {
        self.owed += i128::from(self.owed_now) * i128::from(span);
        self.missing += i128::from(self.missing_now) * i128::from(span);
        while self.owed > i128::from(guarantee.max(1)) * MEMORY {
            self.owed /= 2;
            self.missing /= 2;
        }
    }

    /// The missing part of what was owed, in thousandths; all of it before anything was owed.
    pub(super) fn error(&self) -> i128 {
        if self.owed == 0 { 1_000 } else { self.missing * 1_000 / self.owed }
    }
}

impl Book {
    /// Adds what passed since the last decision.
    pub(super) fn keep_accounts(&mut self, now: Millis) {
        let span = now.saturating_sub(self.decided);
        self.decided = now;
        for (tenant, account) in self.accounts.iter_mut().enumerate() {
            account.advance(span, self.tenants.nominal(tenant));
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
            (account.owed_now, account.missing_now) = owed(&self.tenants, tenant, wanted);
        }
    }
}

fn owed(tenants: &Tenants, tenant: usize, wanted: i64) -> (i64, i64) {
    let used = tenants.used(tenant);
    let owed = tenants.nominal(tenant).min(used.saturating_add(wanted));
    (owed, (owed - used).max(0))
}
