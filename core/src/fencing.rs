//! Fencing: which agent may act for a cluster when several say they are it.
//!
//! Owns the order of agent lives. Invariant: at most one (epoch, pod) is in charge, and its epoch never falls. Fails
//! safe: an agent that cannot be told from a copy is refused and an alarm with a next step is set. Repaired by an
//! administrator, who removes the copy and accepts the cluster again.

use crate::id::Epoch;

/// Who is in charge, as stored.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InCharge {
    /// 0 before the first agent.
    pub epoch: Epoch,
    pub pod_uid: String,
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
    Duplicate { alarm: String },
}

/// Judges a hello of `pod_uid` in `epoch`.
pub fn judge(in_charge: &InCharge, epoch: Epoch, pod_uid: &str) -> Verdict {
    let same_pod = in_charge.pod_uid == pod_uid;
    if epoch > in_charge.epoch {
        Verdict::TakesOver
    } else if same_pod && epoch == in_charge.epoch {
        Verdict::Same
    } else if same_pod {
        Verdict::Superseded
    } else {
        Verdict::Duplicate { alarm: alarm(in_charge, epoch, pod_uid) }
    }
}

fn alarm(in_charge: &InCharge, epoch: Epoch, pod_uid: &str) -> String {
    format!(
        "a second agent (pod {pod_uid}, epoch {}) tried to act as this cluster while pod {} (epoch {}) does; it was \
         refused and nothing changed; remove the second agent, then run `squadron cluster accept` to clear this",
        epoch.0, in_charge.pod_uid, in_charge.epoch.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(epoch: u64, pod: &str) -> Verdict {
        judge(&InCharge { epoch: Epoch(5), pod_uid: "a".into() }, Epoch(epoch), pod)
    }

    #[test]
    fn a_greater_epoch_takes_over_from_any_pod() {
        assert_eq!(judged(6, "b"), Verdict::TakesOver);
        assert_eq!(judged(6, "a"), Verdict::TakesOver);
        assert_eq!(judge(&InCharge::default(), Epoch(1), "a"), Verdict::TakesOver);
    }

    #[test]
    fn the_life_in_charge_may_open_more_streams() {
        assert_eq!(judged(5, "a"), Verdict::Same);
        assert_eq!(judged(4, "a"), Verdict::Superseded);
    }

    #[test]
    fn a25_a26_an_equal_or_lower_epoch_of_another_pod_is_a_duplicate() {
        for epoch in [4, 5] {
            let Verdict::Duplicate { alarm } = judged(epoch, "b") else { panic!("epoch {epoch} passed") };
            assert!(
                alarm.contains("pod b") && alarm.contains("pod a (epoch 5)") && alarm.contains("accept"),
                "{alarm}"
            );
        }
    }
}
