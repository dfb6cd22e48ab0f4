//! Steps: how much a pass may look at to find who must stop, so that it ends in time whatever the fleet and the queues are.
//!
//! Owns the count, in nodes that are looked at, or what costs as much; a clock would make the same snapshot come out differently.
//! Invariant: a job gets no more than half of what is left, so one that costs much leaves something for those behind it.
//! Fails by cutting a search short: its job waits, and is told so.

/// What a pass may still look at.
pub(super) struct Steps {
    left: u64,
    /// What must be left over by now.
    over: u64,
}

/// The bound was met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut;

/// What must be left over, to be put back later.
pub(super) struct Over(u64);

impl Steps {
    pub(super) fn new(most: u64) -> Steps {
        Steps { left: most, over: 0 }
    }

    /// From now on for another job.
    pub(super) fn begin(&mut self) {
        self.over = self.left / 2;
    }

    /// Leaves half of what the job has for what comes later.
    pub(super) fn halve(&mut self) -> Over {
        let before = Over(self.over);
        self.over += self.left.saturating_sub(self.over) / 2;
        before
    }

    /// What was left for later may be used.
    pub(super) fn release(&mut self, before: &Over) {
        self.over = before.0;
    }

    /// Something is about to be looked at.
    pub(super) fn spend(&mut self, cost: usize) -> Result<(), Cut> {
        let left = self.left.checked_sub(cost as u64).filter(|left| *left >= self.over);
        self.left = left.ok_or(Cut)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_leaves_half_for_the_next_and_its_first_part_half_for_the_second() {
        let mut steps = Steps::new(100);
        steps.begin();
        let before = steps.halve();
        assert_eq!((steps.spend(25), steps.spend(1)), (Ok(()), Err(Cut)));
        steps.release(&before);
        assert_eq!((steps.spend(25), steps.spend(1)), (Ok(()), Err(Cut)));
        steps.begin();
        assert_eq!((steps.spend(26), steps.spend(25), steps.spend(1)), (Err(Cut), Ok(()), Err(Cut)));
    }
}
