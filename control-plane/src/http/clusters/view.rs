//! A cluster as people see it. Silence is judged here, from the time of its last word.

use squadron_api::cluster::{Cluster as Shown, ClusterIdentity};
use squadron_core::{
    identity::keys::KeySet,
    sentence::{duration, when},
    time::Timestamp,
};
use squadron_store::{
    cluster::{Cluster, Identity, State},
    node::Capacity,
};

use crate::{http::auth, state::Settings};

/// The row with what its nodes offer, as of `now`.
pub fn show(row: Cluster, capacity: Option<Capacity>, now: Timestamp, settings: &Settings) -> Shown {
    let silent_since = silent_since(&row, now, settings);
    let capacity = capacity.unwrap_or_default();
    Shown {
        state: if silent_since.is_some() { "silent".to_owned() } else { row.state.word().to_owned() },
        sentence: format!("{}{}", sentence(&row, silent_since, now), untold(&row)),
        id: row.id,
        name: row.name,
        last_heard_at: row.last_heard_at,
        silent_since,
        identity: row.identity.map(identity),
        reoffer: row.reoffer.map(identity),
        agent_version: row.agent_version,
        kubernetes_version: row.kubernetes_version,
        clock_skew_ms: row.clock_skew_ms,
        spool_bytes: row.spool_bytes,
        nodes: capacity.nodes,
        allocatable: capacity.allocatable,
        free: capacity.free,
        alarm: row.alarm,
        untold: row.untold,
        labels: row.labels,
        version: row.version,
    }
}

fn silent_since(row: &Cluster, now: Timestamp, settings: &Settings) -> Option<Timestamp> {
    settings.silence(now).silent_since(row.last_heard_at).filter(|_| row.state == State::Active)
}

fn sentence(row: &Cluster, silent_since: Option<Timestamp>, now: Timestamp) -> String {
    match (row.state, silent_since, row.last_heard_at) {
        (State::Invited, ..) => match row.code_expires_at.filter(|end| *end > now) {
            Some(end) => format!("waits for its agent; the enrolment code is good until {}", when(end)),
            None => format!("the enrolment code has expired; run `squadron cluster add {}` again", row.name),
        },
        (State::Pending, ..) => {
            format!("offered its identity and waits for `squadron cluster accept {}`", row.name)
        }
        (State::Revoked, ..) => "was revoked; its agent is refused".to_owned(),
        (State::Active, Some(since), _) => {
            format!("silent for {}, since {}; {}", duration(since, now), when(since), lease(row, since, now))
        }
        (State::Active, None, Some(heard)) => format!("heard {} ago", duration(heard, now)),
        (State::Active, None, None) => "accepted; its agent has not connected yet".to_owned(),
    }
}

/// What follows while it has yet to tell what it holds.
fn untold(row: &Cluster) -> String {
    let since = "since the database failed over, so it gets no jobs and older ones wait";
    match row.state {
        _ if !row.untold => String::new(),
        State::Revoked => {
            let say = format!("`squadron cluster declare-dead {}`", row.name);
            format!("; it cannot tell what it holds {since} until {say}")
        }
        _ => format!(
            "; it has not told what it holds {since}; if that lasts while it is heard, update its agent"
        ),
    }
}

/// What the silence means for the jobs there.
fn lease(row: &Cluster, since: Timestamp, now: Timestamp) -> String {
    let ends = since.plus_millis(i64::try_from(row.lease_ms).unwrap_or(i64::MAX / 2_000));
    if row.lease_ms == 0 {
        "its jobs go on, and their news arrives when it is heard again".to_owned()
    } else if now < ends {
        format!(
            "its jobs go on; its lease has about {} left, then those with policy fence stop there and start elsewhere",
            duration(now, ends)
        )
    } else {
        format!(
            "its lease ended about {} ago: jobs with policy fence stop there and start elsewhere, those with policy wait \
             wait until it is heard or `squadron cluster declare-dead {}`",
            duration(ends, now),
            row.name
        )
    }
}

/// Names an identity: whoever accepts it says what they saw.
pub fn digest(identity: &Identity) -> String {
    let Identity { issuer, subject, service_account_uid, kube_system_uid, jwks } = identity;
    let all = serde_json::json!([issuer, subject, service_account_uid, kube_system_uid, jwks]);
    let digest = auth::digest(&all.to_string());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn identity(identity: Identity) -> ClusterIdentity {
    ClusterIdentity {
        digest: digest(&identity),
        key_ids: KeySet::read(&identity.jwks).map(|set| set.ids()).unwrap_or_default(),
        issuer: identity.issuer,
        subject: identity.subject,
        service_account_uid: identity.service_account_uid,
        kube_system_uid: identity.kube_system_uid,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use squadron_core::id::ClusterId;
    use uuid::Uuid;

    use super::*;

    const NOW: Timestamp = Timestamp(1_790_000_000_000_000);

    fn row(state: State, heard_ms_ago: Option<i64>) -> Cluster {
        Cluster {
            id: ClusterId(Uuid::from_u128(1)),
            name: "east".into(),
            state,
            created_at: NOW,
            code_sha256: None,
            code_expires_at: None,
            identity: None,
            reoffer: None,
            agent_epoch: 0,
            agent_pod_uid: String::new(),
            agent_version: String::new(),
            kubernetes_version: String::new(),
            last_heard_at: heard_ms_ago.map(|ago| NOW.plus_millis(-ago)),
            clock_skew_ms: None,
            spool_bytes: 0,
            lease_ms: 0,
            renewals: 0,
            desired_generation: 0,
            alarm: String::new(),
            untold: false,
            labels: Default::default(),
            version: 1,
        }
    }

    fn shown(row: Cluster) -> Shown {
        let settings = Settings {
            public_url: String::new(),
            agent_address: String::new(),
            ca_bundle: String::new(),
            heartbeat: Duration::from_secs(10),
            lease: squadron_core::lease::Terms::default(),
            finished_retention: Duration::ZERO,
            protected_run: Duration::ZERO,
        };
        show(row, None, NOW, &settings)
    }

    #[test]
    fn two_missed_heartbeats_and_a_half_are_silence() {
        assert_eq!(shown(row(State::Active, Some(25_000))).state, "active");
        let silent = shown(row(State::Active, Some(25_001)));
        assert_eq!((silent.state.as_str(), silent.silent_since), ("silent", Some(NOW.plus_millis(-25_001))));
        assert!(silent.sentence.starts_with("silent for 25 s"), "{}", silent.sentence);
    }

    #[test]
    fn a_silent_cluster_says_how_long_its_lease_lasts() {
        let said = |ago: i64| shown(Cluster { lease_ms: 60_000, ..row(State::Active, Some(ago)) }).sentence;
        assert!(said(40_000).contains("its lease has about 20 s left"), "{}", said(40_000));
        assert!(said(70_000).contains("its lease ended about 10 s ago"), "{}", said(70_000));
    }

    #[test]
    fn a_cluster_that_has_yet_to_tell_what_it_holds_says_so() {
        let said = |state: State| shown(Cluster { untold: true, ..row(state, Some(1_000)) });
        let heard = said(State::Active);
        assert!(heard.untold && heard.sentence.contains("heard 1 s ago; it has not told what it holds"));
        assert!(said(State::Revoked).sentence.ends_with("until `squadron cluster declare-dead east`"));
    }

    #[test]
    fn only_an_active_cluster_can_be_silent() {
        for state in [State::Invited, State::Pending, State::Revoked] {
            assert_eq!(shown(row(state, Some(99_000))).state, state.word());
        }
        assert_eq!(shown(row(State::Active, None)).sentence, "accepted; its agent has not connected yet");
    }
}
