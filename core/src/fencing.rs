//! Fencing: which agent may act for a cluster when several say they are it.
//!
//! Owns the order of agent lives. Invariant: at most one (epoch, pod) is in charge, and its epoch never falls. Fails
//! safe: an agent that cannot be told from a copy is refused and an alarm with a next step is set. A copy that takes its
//! epochs from a Lease of its own cannot outgrow the agent in charge: it hears of a higher epoch only once that agent is
//! silent. Repaired by an administrator, who removes the copy and accepts the cluster again.

use std::cmp::Ordering;

use crate::{
    id::Epoch,
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
}

/// A hello that wants to act for the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim<'a> {
    pub epoch: Epoch,
    pub pod_uid: &'a str,
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
}

/// Judges a hello.
pub fn judge(in_charge: &InCharge, claim: Claim<'_>) -> Verdict {
    match standing(in_charge, claim.epoch, claim.pod_uid) {
        Standing::Newer => Verdict::TakesOver,
        Standing::Same => Verdict::Same,
        Standing::Older => Verdict::Superseded,
        Standing::Stranger => Verdict::Duplicate {
            alarm: alarm(in_charge, claim.epoch, claim.pod_uid),
            may_follow: claim.silence.word(in_charge.last_heard_at) != Word::Heard,
        },
    }
}

/// How a life of an agent stands to the one in charge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Of a greater epoch.
    Newer,
    Same,
    /// An older life of the same pod.
    Older,
    /// Another pod with an equal or lower epoch.
    Stranger,
}

pub(crate) fn standing(in_charge: &InCharge, epoch: Epoch, pod_uid: &str) -> Standing {
    match (epoch.cmp(&in_charge.epoch), in_charge.pod_uid == pod_uid) {
        (Ordering::Greater, _) => Standing::Newer,
        (Ordering::Equal, true) => Standing::Same,
        (Ordering::Less, true) => Standing::Older,
        (_, false) => Standing::Stranger,
    }
}

pub(crate) fn alarm(in_charge: &InCharge, epoch: Epoch, pod_uid: &str) -> String {
    format!(
        "a second agent (pod {pod_uid}, epoch {}) tried to act as this cluster while pod {} (epoch {}) does; it was refused and \
         nothing changed; remove the second agent, then run `squadron cluster clear-alarm {}`",
        epoch.0, in_charge.pod_uid, in_charge.epoch.0, in_charge.cluster
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_000_000_000_000);

    fn heard(ms_ago: i64) -> InCharge {
        let last_heard_at = Some(NOW.plus_millis(-ms_ago));
        InCharge { cluster: "east".into(), epoch: Epoch(5), pod_uid: "a".into(), last_heard_at }
    }

    fn claim(epoch: u64, pod_uid: &str) -> Claim<'_> {
        Claim { epoch: Epoch(epoch), pod_uid, silence: Judge { now: NOW, after_ms: 25_000 } }
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
}
