//! Fencing: which agent may act for a cluster when several say they are it.
//!
//! Owns the order of agent lives (R11). Invariants: at most one (epoch, pod) is in charge, and its epoch never falls; a life is
//! heard only if it knows of about as many renewals as the control plane has answered. That count lies in the cluster's Lease
//! object, so the next life of the same cluster knows it and a copy of the past, which may come with a greater epoch or even
//! with the pod in charge, does not. Fails safe: an agent that cannot be told from a copy is refused and an alarm with a next
//! step is set. A copy that takes its epochs from a Lease of its own cannot outgrow the agent in charge: it hears of a higher
//! epoch only once that agent is silent. Repaired by a person, who removes the copy or says that the cluster before it is dead.

use std::cmp::Ordering;

use crate::{
    id::Epoch,
    lease::Terms,
    silence::{Judge, Word},
    time::Timestamp,
};

/// Who is in charge, as stored.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InCharge {
    /// Name of the cluster.
    pub cluster: String,
    /// 0 before the first agent.
    pub epoch: Epoch,
    pub pod_uid: String,
    /// When the cluster's agent was last heard.
    pub last_heard_at: Option<Timestamp>,
    /// Renewals of all its lives that were answered and counted.
    pub renewals: u64,
}

/// A hello that wants to act for the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim<'a> {
    pub epoch: Epoch,
    pub pod_uid: &'a str,
    /// Renewals that were answered to this life and those before it, by the Lease object of its cluster; none from an agent
    /// that does not count them.
    pub renewals: Option<u64>,
    /// Renewals that a true life may not have written down.
    pub slack: u64,
    /// When it came, and when the agent in charge counts as gone.
    pub silence: Judge,
}

/// What becomes of a hello.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A new life: it takes over, and streams of older lives end.
    TakesOver,
    /// Another stream of the life that is in charge.
    Same,
    /// An older life of the same pod: it ends, nobody is alarmed.
    Superseded,
    /// Another pod with an equal or lower epoch.
    Duplicate {
        alarm: String,
        /// Whether it may come again above the epoch in charge, because nothing is heard of the agent in charge: then
        /// the Lease was lost with the pod, and this is the only agent left.
        may_follow: bool,
    },
    /// It knows of far fewer renewals than there were.
    Copy { alarm: String },
}

/// Judges a hello.
pub fn judge(in_charge: &InCharge, claim: Claim<'_>) -> Verdict {
    match (claim.epoch.cmp(&in_charge.epoch), in_charge.pod_uid == claim.pod_uid) {
        (Ordering::Less, true) => Verdict::Superseded,
        (Ordering::Less | Ordering::Equal, false) => Verdict::Duplicate {
            alarm: second(in_charge, claim),
            may_follow: claim.silence.word(in_charge.last_heard_at) != Word::Heard,
        },
        (Ordering::Equal | Ordering::Greater, _) if is_of_the_past(in_charge, claim) => {
            Verdict::Copy { alarm: copy(in_charge, claim) }
        }
        (Ordering::Equal, true) => Verdict::Same,
        (Ordering::Greater, _) => Verdict::TakesOver,
    }
}

fn is_of_the_past(in_charge: &InCharge, claim: Claim<'_>) -> bool {
    claim.renewals.is_some_and(|known| known.saturating_add(claim.slack) < in_charge.renewals)
}

/// Renewals that a life may have missed to write down: those of two leases, and some.
pub fn slack(terms: &Terms) -> u64 {
    2 * (terms.ttl / terms.heartbeat.max(1)) + 6
}

/// The count of a cluster's renewals after one more that was answered to an agent which has noted `known`. It never runs ahead
/// of the notes by more than one, however many renewals come at once, and a lie moves it by one.
pub fn counted(renewals: u64, known: u64) -> u64 {
    renewals.max(known.saturating_add(1).min(renewals.saturating_add(1)))
}

fn second(in_charge: &InCharge, claim: Claim<'_>) -> String {
    format!(
        "a second agent (pod {}, epoch {}) tried to act as this cluster while pod {} (epoch {}) does; it was refused and \
         nothing changed; remove the second agent, then run `squadron cluster clear-alarm {}`",
        claim.pod_uid, claim.epoch.0, in_charge.pod_uid, in_charge.epoch.0, in_charge.cluster
    )
}

fn copy(in_charge: &InCharge, claim: Claim<'_>) -> String {
    let cluster = &in_charge.cluster;
    format!(
        "an agent (pod {}, epoch {}) that knows of {} lease renewals tried to act as {cluster}, which has had {}: it looks like a \
         copy of the cluster, restored from the past, beside pod {} (epoch {}); it was refused and nothing changed; remove the \
         copy, or, if it is all that is left of {cluster}, run `squadron cluster declare-dead {cluster}`, which lets it in; then \
         run `squadron cluster clear-alarm {cluster}`",
        claim.pod_uid,
        claim.epoch.0,
        claim.renewals.unwrap_or(0),
        in_charge.renewals,
        in_charge.pod_uid,
        in_charge.epoch.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_000_000_000_000);

    fn heard(ms_ago: i64) -> InCharge {
        let last_heard_at = Some(NOW.plus_millis(-ms_ago));
        InCharge {
            cluster: "east".into(),
            epoch: Epoch(5),
            pod_uid: "a".into(),
            last_heard_at,
            renewals: 500,
        }
    }

    fn claim(epoch: u64, pod_uid: &str) -> Claim<'_> {
        let silence = Judge { now: NOW, after_ms: 25_000 };
        Claim { epoch: Epoch(epoch), pod_uid, renewals: Some(500), slack: 126, silence }
    }

    fn judged(epoch: u64, pod: &str) -> Verdict {
        judge(&heard(1_000), claim(epoch, pod))
    }

    #[test]
    fn a_greater_epoch_takes_over_from_any_pod() {
        assert_eq!(judged(6, "b"), Verdict::TakesOver);
        assert_eq!(judged(6, "a"), Verdict::TakesOver);
        assert_eq!(judge(&InCharge::default(), claim(1, "a")), Verdict::TakesOver);
    }

    #[test]
    fn the_life_in_charge_may_open_more_streams() {
        assert_eq!(judged(5, "a"), Verdict::Same);
        assert_eq!(judged(4, "a"), Verdict::Superseded);
    }

    #[test]
    fn a25_a26_an_equal_or_lower_epoch_of_another_pod_is_a_duplicate() {
        for epoch in [4, 5] {
            let Verdict::Duplicate { alarm, .. } = judged(epoch, "b") else { panic!("epoch {epoch} passed") };
            let told = ["pod b", "pod a (epoch 5)", "`squadron cluster clear-alarm east`"];
            assert!(told.iter().all(|part| alarm.contains(part)), "{alarm}");
        }
    }

    #[test]
    fn a_copy_may_follow_only_an_agent_that_is_not_heard_any_more() {
        let may_follow = |in_charge: &InCharge| match judge(in_charge, claim(5, "b")) {
            Verdict::Duplicate { may_follow, .. } => may_follow,
            other => panic!("{other:?}"),
        };
        assert!(!may_follow(&heard(0)));
        assert!(!may_follow(&heard(25_000)));
        assert!(may_follow(&heard(25_001)));
        assert!(may_follow(&InCharge { last_heard_at: None, ..heard(0) }), "never heard");
    }

    fn knowing(epoch: u64, pod_uid: &str, renewals: Option<u64>) -> Verdict {
        judge(&heard(1_000), Claim { renewals, ..claim(epoch, pod_uid) })
    }

    #[test]
    fn r11_a_copy_of_the_past_is_refused_even_with_a_greater_epoch_or_as_the_pod_in_charge() {
        for (epoch, pod) in [(9, "c"), (6, "a"), (5, "a")] {
            let Verdict::Copy { alarm } = knowing(epoch, pod, Some(373)) else { panic!("{pod} passed") };
            let told = ["knows of 373 lease renewals", "east, which has had 500", "declare-dead east`"];
            assert!(told.iter().all(|part| alarm.contains(part)), "{alarm}");
        }
        assert_eq!(knowing(9, "c", Some(374)), Verdict::TakesOver, "a true life may have missed as many");
        assert_eq!(knowing(5, "a", Some(374)), Verdict::Same);
        assert_eq!(knowing(9, "c", Some(u64::MAX)), Verdict::TakesOver);
    }

    #[test]
    fn an_agent_that_does_not_count_is_heard_as_before() {
        assert_eq!(knowing(6, "b", None), Verdict::TakesOver);
        assert_eq!(knowing(5, "a", None), Verdict::Same);
        assert!(matches!(knowing(5, "b", None), Verdict::Duplicate { .. }));
    }

    #[test]
    fn the_slack_is_what_two_leases_renew() {
        assert_eq!(slack(&Terms::default()), 126);
        assert_eq!(slack(&Terms { heartbeat: 0, ttl: 5, ..Terms::default() }), 16);
    }

    #[test]
    fn r11_the_count_of_renewals_stays_with_the_notes_of_the_agent() {
        assert_eq!(counted(7, 7), 8);
        assert_eq!(counted(8, 7), 8, "a burst counts once until the agent has noted it");
        assert_eq!(counted(7, 3), 7, "it never falls");
        assert_eq!(counted(7, 900), 8, "and a lie moves it by one");
        assert_eq!(counted(u64::MAX, u64::MAX), u64::MAX);
    }
}
