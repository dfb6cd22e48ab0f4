//! Shares: what each team was owed, and how much of that it got.
//!
//! A team is guaranteed an equal part of the fleet. At any time it is owed that part, but no more than what it uses and
//! what its waiting jobs would add that fit into the rest of it. The share error is the owed capacity that it did not have,
//! over the owed capacity, summed over time. 0 means never below its guarantee while it waited.

use std::collections::BTreeMap;

use crate::replay::{
    input::{Fleet, Trace},
    policy::Millis,
    world::milli,
};

/// Milliseconds of an hour, the window of the worst error.
const HOUR: Millis = 3_600_000;

/// Sums for one team. Amounts in thousandths of a GPU times milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Share {
    /// Thousandths of a GPU.
    pub guaranteed: i64,
    pub owed: i128,
    pub missing: i128,
    /// Milliseconds with waiting jobs that fit the guarantee.
    pub waited: Millis,
    /// Used, whether waiting or not.
    pub used: i128,
    /// Missing and owed in the hour with the largest error.
    pub worst_hour: (i128, i128),
}

/// All teams over time.
pub(super) struct Shares {
    now: Millis,
    teams: Vec<Team>,
}

#[derive(Default)]
struct Team {
    since: Millis,
    used: i64,
    pending: BTreeMap<i64, u64>,
    sums: Share,
    hour: (Millis, i128, i128),
}

impl Shares {
    pub(super) fn new(trace: &Trace, fleet: &Fleet) -> Self {
        let count = i64::try_from(trace.teams.len()).unwrap_or(i64::MAX).max(1);
        let capacity = milli(fleet.gpus());
        let spare = capacity % count;
        let teams = (0..count).map(|index| {
            let guaranteed = capacity / count + i64::from(index < spare);
            Team { sums: Share { guaranteed, ..Share::default() }, ..Team::default() }
        });
        Shares { now: 0, teams: teams.take(trace.teams.len()).collect() }
    }

    pub(super) fn now(&self) -> Millis {
        self.now
    }

    pub(super) fn go_to(&mut self, now: Millis) {
        self.now = now;
    }

    pub(super) fn wait(&mut self, team: usize, milli: i64) {
        self.team(team).pending.entry(milli).and_modify(|count| *count += 1).or_insert(1);
    }

    pub(super) fn start(&mut self, team: usize, milli: i64) {
        let team = self.team(team);
        team.used += milli;
        if let Some(count) = team.pending.get_mut(&milli) {
            *count -= 1;
            if *count == 0 {
                team.pending.remove(&milli);
            }
        }
    }

    pub(super) fn end(&mut self, team: usize, milli: i64) {
        self.team(team).used -= milli;
    }

    /// A running job was stopped and waits again.
    pub(super) fn stop(&mut self, team: usize, milli: i64) {
        self.end(team, milli);
        self.wait(team, milli);
    }

    pub(super) fn close(mut self) -> Vec<Share> {
        let now = self.now;
        for team in &mut self.teams {
            team.advance(now);
            team.close_hour();
        }
        self.teams.into_iter().map(|team| team.sums).collect()
    }

    fn team(&mut self, index: usize) -> &mut Team {
        let now = self.now;
        let team = &mut self.teams[index];
        team.advance(now);
        team
    }
}

impl Team {
    /// Adds what passed since the team last changed, hour by hour.
    fn advance(&mut self, now: Millis) {
        let (owed, waits) = self.owed();
        if owed == 0 {
            self.since = now;
        }
        while self.since < now {
            let hour = self.since / HOUR;
            let until = now.min((hour + 1) * HOUR);
            if hour != self.hour.0 {
                self.close_hour();
                self.hour = (hour, 0, 0);
            }
            self.add(until - self.since, owed, waits);
            self.since = until;
        }
    }

    fn add(&mut self, span: Millis, owed: i64, waits: bool) {
        let time = i128::from(span);
        let missing = i128::from((owed - self.used).max(0)) * time;
        let owed = i128::from(owed) * time;
        self.sums.owed += owed;
        self.sums.missing += missing;
        self.sums.used += i128::from(self.used) * time;
        self.sums.waited += if waits { span } else { 0 };
        self.hour.1 += missing;
        self.hour.2 += owed;
    }

    fn close_hour(&mut self) {
        let (_, missing, owed) = self.hour;
        let (worst_missing, worst_owed) = self.sums.worst_hour;
        if missing * worst_owed.max(1) > worst_missing * owed.max(1) {
            self.sums.worst_hour = (missing, owed);
        }
    }

    /// What it is owed now, and whether it waits for some of that.
    fn owed(&self) -> (i64, bool) {
        let left = self.sums.guaranteed - self.used;
        let wanted: i64 = self
            .pending
            .range(..=left)
            .map(|(milli, count)| milli.saturating_mul(i64::try_from(*count).unwrap_or(i64::MAX)))
            .fold(0, i64::saturating_add);
        (self.sums.guaranteed.min(self.used.saturating_add(wanted)), wanted > 0)
    }
}
