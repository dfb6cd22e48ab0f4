//! Owed: how far a tenant has been below its guarantee while it waited.
//!
//! Owns two sums per tenant, in thousandths of a GPU times milliseconds: what it was owed and what of that it did not have.
//! It is owed its guarantee, but no more than what it uses and what its waiting jobs would add that fit into the rest of
//! it. Invariant: the sums cover about the last week of the guarantee, because both are halved when they pass that.
//! Fails by never being told the time, which reads as nothing owed. Shared by the running dispatcher and the book of replays.

/// Milliseconds of the guarantee that an account remembers.
const MEMORY_MS: i64 = 7 * 24 * 3_600_000;

/// Sums and rates of one tenant.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Account {
    /// Thousandths of a GPU times milliseconds.
    pub owed: i64,
    /// What of that it did not have.
    pub missing: i64,
    /// Thousandths of a GPU, since the sums were last told the time.
    pub owed_now: i64,
    pub missing_now: i64,
}

impl Account {
    /// After `span_ms` more at its rates.
    pub fn after(self, span_ms: i64, guarantee: i64) -> Account {
        let span = span_ms.max(0);
        let most = guarantee.max(1).saturating_mul(MEMORY_MS);
        let mut owed = self.owed.saturating_add(self.owed_now.saturating_mul(span));
        let mut missing = self.missing.saturating_add(self.missing_now.saturating_mul(span));
        while owed > most {
            owed /= 2;
            missing /= 2;
        }
        Account { owed, missing, ..self }
    }

    /// With the rates that follow from what it uses, and what waits that fits into the rest of its guarantee.
    pub fn rated(self, guarantee: i64, used: i64, wanted: i64) -> Account {
        let owed_now = guarantee.min(used.saturating_add(wanted));
        Account { owed_now, missing_now: (owed_now - used).max(0), ..self }
    }

    /// The missing part of what was owed, in thousandths; all of it before anything was owed.
    pub fn error(&self) -> i64 {
        if self.owed == 0 {
            return 1_000;
        }
        let thousandths = i128::from(self.missing) * 1_000 / i128::from(self.owed);
        i64::try_from(thousandths).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn an_hour_at_half_of_what_it_is_owed_is_an_error_of_a_half() {
        let account = Account::default();
        assert_eq!(account.error(), 1_000, "nothing was owed yet");
        let account = account.rated(8_000, 4_000, 100_000).after(HOUR, 8_000);
        assert_eq!((account.owed, account.missing, account.error()), (8_000 * HOUR, 4_000 * HOUR, 500));
        let served = account.rated(8_000, 9_000, 5_000).after(HOUR, 8_000);
        assert_eq!(served.error(), 250, "what is used beyond the guarantee is not owed and not missing");
        assert_eq!(
            account.rated(8_000, 0, 0).after(HOUR, 8_000).error(),
            500,
            "who wants nothing is owed nothing"
        );
    }

    #[test]
    fn what_is_long_past_weighs_less_and_nothing_overflows() {
        let missed = Account::default().rated(8_000, 0, 8_000).after(MEMORY_MS, 8_000);
        let better = missed.rated(8_000, 8_000, 0).after(MEMORY_MS, 8_000);
        assert_eq!((missed.error(), better.error()), (1_000, 500));
        let huge = Account::default().rated(i64::MAX, 0, i64::MAX).after(i64::MAX, i64::MAX);
        assert_eq!(huge.error(), 1_000);
        assert_eq!(missed.after(-5, 8_000), missed);
    }
}
