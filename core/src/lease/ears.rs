//! Ears: how long the granting side has listened to a cluster without hearing it.
//!
//! Owns the count of silence (R6, R8, R9). Invariants: it begins anew when a leader begins, so nothing expires within one
//! lease of a start; it counts only time in which this leader looked, and in which some other cluster was heard, so an
//! outage of the control plane is never taken for an outage of a cluster; a renewal counts from the look that found it,
//! which is later than the moment it was sent. Fails safe: what is not counted makes jobs wait longer. Repaired by the
//! next pass.

use std::collections::BTreeMap;

use crate::{
    id::{ClusterId, Epoch},
    lease::{Terms, Tick},
};

/// The newest renewal of a cluster, as committed in the database.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Renewal {
    pub epoch: Epoch,
    pub number: u64,
    /// The lease that was promised with it, in milliseconds.
    pub ttl: u64,
}

/// Whether a renewal is news: of the life in charge, and newer than the newest (R13).
pub fn is_news(newest: &Renewal, epoch: Epoch, number: u64) -> bool {
    (epoch, number) > (newest.epoch, newest.number)
}

/// How silent a cluster is, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Silence {
    /// Time during which it could have been heard and was not.
    pub counted: u64,
    /// Time since it was heard at the earliest, or since this leader began.
    pub elapsed: u64,
    /// The longest lease that this leader saw promised to it.
    pub ttl: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Ear {
    renewal: Renewal,
    /// When it was heard at the earliest, and the look that found it.
    since: Tick,
    found: Tick,
    heard: bool,
    counted: u64,
    ttl: u64,
}

/// What one leader has heard during its term. Kept in memory only; a new leader begins with a new one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ears {
    last_look: Option<Tick>,
    clusters: BTreeMap<ClusterId, Ear>,
}

impl Ears {
    /// Takes what the database holds now. Call it once per pass.
    pub fn look(&mut self, rows: &BTreeMap<ClusterId, Renewal>, terms: &Terms, now: Tick) {
        let last = self.last_look.replace(now).unwrap_or(now);
        let elapsed = now.since(last);
        self.clusters.retain(|cluster, _| rows.contains_key(cluster));
        for (cluster, renewal) in rows {
            self.hear(*cluster, *renewal, last, now);
        }
        if elapsed <= terms.heartbeat {
            self.count(elapsed, terms, now);
        }
    }

    /// The silence of a cluster at the last look; none for a cluster that was never looked at.
    pub fn silence(&self, cluster: ClusterId) -> Option<Silence> {
        let (ear, last) = (self.clusters.get(&cluster)?, self.last_look?);
        Some(Silence { counted: ear.counted, elapsed: last.since(ear.since), ttl: ear.ttl })
    }

    fn hear(&mut self, cluster: ClusterId, renewal: Renewal, last: Tick, now: Tick) {
        match self.clusters.get_mut(&cluster) {
            None => {
                let ear = Ear { renewal, since: now, found: now, heard: false, counted: 0, ttl: renewal.ttl };
                self.clusters.insert(cluster, ear);
            }
            Some(ear) if ear.renewal != renewal => {
                let ttl = ear.ttl.max(renewal.ttl);
                // It came after the last look, and that may be long ago.
                *ear = Ear { renewal, since: last, found: now, heard: true, counted: 0, ttl };
            }
            Some(_) => {}
        }
    }

    fn count(&mut self, elapsed: u64, terms: &Terms, now: Tick) {
        let lately = |ear: &Ear| ear.heard && now.since(ear.since) <= terms.suspect_after;
        let heard: Vec<ClusterId> =
            self.clusters.iter().filter(|(_, ear)| lately(ear)).map(|(cluster, _)| *cluster).collect();
        for (cluster, ear) in &mut self.clusters {
            let others = heard.iter().any(|other| other != cluster);
            if others && ear.found != now {
                ear.counted = ear.counted.saturating_add(elapsed);
            }
        }
    }
}
