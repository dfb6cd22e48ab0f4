//! From invitation to revocation, on a real Postgres.
#![allow(clippy::unwrap_used)]

use squadron_core::{fencing::counted, id::Epoch, lease::Renewal, silence::Judge};
use uuid::Uuid;

use super::{
    agent::{Admitted, Beat, Hello},
    enrol::{Offer, Offered},
    invite::{Decided, Invitation},
    lease::Asked,
    *,
};
use crate::{
    audit,
    testing::{self, fixture},
};

const NOW: Timestamp = Timestamp(1_790_000_000_000_000);
const CODE: Digest = [7; 32];

fn entry(action: &str) -> audit::Entry {
    audit::Entry {
        id: Uuid::now_v7(),
        at: NOW,
        actor: "ann".into(),
        action: action.into(),
        object: "east".into(),
        allowed: true,
        detail: String::new(),
        request_id: "r-1".into(),
    }
}

fn jwks(x: &str) -> String {
    format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","kid":"{}","x":"{}"}}]}}"#, &x[..1], x.repeat(43))
}

fn identity() -> Identity {
    Identity {
        issuer: "https://kubernetes.default.svc".into(),
        subject: "system:serviceaccount:squadron:agent".into(),
        service_account_uid: "sa-1".into(),
        kube_system_uid: "ks-1".into(),
        jwks: jwks("A"),
    }
}

async fn invited(store: &Store) -> ClusterId {
    let invitation = Invitation {
        id: ClusterId(Uuid::now_v7()),
        name: "east".into(),
        code_sha256: CODE,
        code_expires_at: NOW.plus_millis(3_600_000),
        audit: entry("cluster.invite"),
    };
    store.invite(&invitation).await.unwrap().unwrap().id
}

fn offer(cluster: ClusterId, identity: Identity) -> Offer {
    Offer {
        cluster,
        code_sha256: CODE,
        identity,
        signed_by_known: true,
        agent_version: "0.1.0".into(),
        kubernetes_version: "v1.34.4".into(),
        now: NOW,
        audit: entry("cluster.offer"),
    }
}

/// An administrator accepts what waits there, or what is in force.
async fn accept(store: &Store, id: ClusterId) -> Decided {
    let cluster = store.cluster(id).await.unwrap().unwrap();
    let seen = cluster.waiting().or(cluster.identity.as_ref()).cloned().unwrap_or_default();
    store.accept_cluster(id, &seen, NOW, &entry("cluster.accept")).await.unwrap()
}

async fn active(store: &Store) -> ClusterId {
    let id = invited(store).await;
    assert_eq!(store.offer(&offer(id, identity())).await.unwrap(), Offered::Pending);
    assert!(matches!(accept(store, id).await, Decided::Done(_)));
    id
}

fn hello(cluster: ClusterId, epoch: u64, pod: &str, key: u8) -> Hello {
    Hello {
        cluster,
        epoch: Epoch(epoch),
        pod_uid: pod.into(),
        public_key: [key; 32],
        agent_version: "0.1.0".into(),
        kubernetes_version: "v1.34.4".into(),
        holds_leases: true,
        renewals: None,
        slack: 16,
        silence: Judge { now: NOW, after_ms: 25_000 },
        audit: entry("link.take_over"),
    }
}

#[tokio::test]
async fn enrolment_needs_both_sides() {
    let store = testing::store().await;
    let id = invited(&store).await;
    let refused = accept(&store, id).await;
    assert!(matches!(refused, Decided::Refused(_)), "nothing was offered yet");
    assert_eq!(store.offer(&offer(id, identity())).await.unwrap(), Offered::Pending);
    assert_eq!(store.offer(&offer(id, identity())).await.unwrap(), Offered::Pending, "a repeat is harmless");
    assert_eq!(store.cluster(id).await.unwrap().unwrap().state, State::Pending);
    assert_eq!(store.admit(&hello(id, 1, "a", 1)).await.unwrap(), Admitted::NotActive);
    accept(&store, id).await;
    let cluster = store.cluster_named("east").await.unwrap().unwrap();
    assert_eq!((cluster.state, cluster.code_sha256), (State::Active, None), "the code is burnt");
    assert_eq!(store.offer(&offer(id, identity())).await.unwrap(), Offered::Accepted);
}

#[tokio::test]
async fn a28_a_wrong_expired_or_used_code_changes_nothing() {
    let store = testing::store().await;
    let id = invited(&store).await;
    let wrong = Offer { code_sha256: [8; 32], ..offer(id, identity()) };
    assert_eq!(store.offer(&wrong).await.unwrap(), Offered::BadCode);
    let late = Offer { now: NOW.plus_millis(3_600_000), ..offer(id, identity()) };
    assert_eq!(store.offer(&late).await.unwrap(), Offered::BadCode);
    assert_eq!(store.cluster(id).await.unwrap().unwrap().state, State::Invited);
    let audit = store.audit_page(None, 10).await.unwrap();
    assert_eq!(audit.iter().filter(|row| !row.allowed).count(), 2, "both refusals are in the audit log");
    store.offer(&offer(id, identity())).await.unwrap();
    accept(&store, id).await;
    let other = Identity { kube_system_uid: "ks-2".into(), ..identity() };
    assert_eq!(
        store.offer(&offer(id, other)).await.unwrap(),
        Offered::Contradicts,
        "the used code opens nothing"
    );
}

#[tokio::test]
async fn another_cluster_with_the_same_values_only_sets_the_alarm() {
    let store = testing::store().await;
    let id = active(&store).await;
    let elsewhere = Identity { kube_system_uid: "ks-2".into(), ..identity() };
    let other_keys = Offer { signed_by_known: false, ..offer(id, identity()) };
    for stranger in [offer(id, elsewhere), other_keys] {
        assert_eq!(store.offer(&stranger).await.unwrap(), Offered::Contradicts, "{stranger:?}");
        let cluster = store.cluster(id).await.unwrap().unwrap();
        assert_eq!(cluster.identity.unwrap().kube_system_uid, "ks-1");
        assert!(
            cluster.alarm.contains("tried to enrol as east") && cluster.alarm.contains("squadron cluster")
        );
        assert_eq!((cluster.state, cluster.reoffer), (State::Active, None));
    }
}

#[tokio::test]
async fn an_agent_that_was_installed_again_waits_for_a_word() {
    let store = testing::store().await;
    let id = active(&store).await;
    let again = Identity { service_account_uid: "sa-2".into(), ..identity() };
    assert_eq!(store.offer(&offer(id, again.clone())).await.unwrap(), Offered::Reoffered);
    let waiting = store.cluster(id).await.unwrap().unwrap();
    assert_eq!(waiting.identity.as_ref().unwrap().service_account_uid, "sa-1");
    assert!(waiting.alarm.contains("squadron cluster accept east"), "{}", waiting.alarm);
    let newer = Identity { service_account_uid: "sa-3".into(), ..identity() };
    store.offer(&offer(id, newer)).await.unwrap();
    let seen = waiting.reoffer.clone().unwrap();
    let late = store.accept_cluster(id, &seen, NOW, &entry("cluster.accept")).await.unwrap();
    assert!(matches!(late, Decided::OtherIdentity(_)), "it is not what was looked at");
    assert_eq!(store.offer(&offer(id, again.clone())).await.unwrap(), Offered::Reoffered);
    accept(&store, id).await;
    let accepted = store.cluster(id).await.unwrap().unwrap();
    assert_eq!(accepted.identity.unwrap().service_account_uid, "sa-2");
    assert_eq!(accepted.alarm, "");
    assert_eq!(store.offer(&offer(id, again)).await.unwrap(), Offered::Accepted);
}

#[tokio::test]
async fn a_name_can_be_invited_again_until_it_offers_itself() {
    let store = testing::store().await;
    let id = invited(&store).await;
    assert_eq!(invited(&store).await, id, "the same cluster with a new code");
    store.offer(&offer(id, identity())).await.unwrap();
    let taken = Invitation {
        id: ClusterId(Uuid::now_v7()),
        name: "east".into(),
        code_sha256: CODE,
        code_expires_at: NOW,
        audit: entry("cluster.invite"),
    };
    assert_eq!(store.invite(&taken).await.unwrap(), None);
}

#[tokio::test]
async fn hellos_are_fenced_and_bound_to_the_first_key() {
    let store = testing::store().await;
    let id = active(&store).await;
    assert_eq!(store.admit(&hello(id, 5, "a", 1)).await.unwrap(), Admitted::Welcome);
    assert_eq!(store.admit(&hello(id, 5, "a", 1)).await.unwrap(), Admitted::Welcome, "its second stream");
    assert_eq!(store.admit(&hello(id, 6, "a", 2)).await.unwrap(), Admitted::OtherKey, "a23");
    let superseded = Admitted::Superseded { in_charge: Epoch(5) };
    assert_eq!(store.admit(&hello(id, 4, "a", 1)).await.unwrap(), superseded);
    let Admitted::Duplicate { alarm, above: None } = store.admit(&hello(id, 5, "b", 3)).await.unwrap() else {
        panic!("a second agent passed")
    };
    let cluster = store.cluster(id).await.unwrap().unwrap();
    assert_eq!((cluster.alarm, cluster.agent_pod_uid.as_str()), (alarm, "a"));
    let silence = Judge { now: NOW.plus_millis(25_001), after_ms: 25_000 };
    let later = Hello { silence, ..hello(id, 5, "b", 3) };
    let Admitted::Duplicate { above, .. } = store.admit(&later).await.unwrap() else { panic!("it passed") };
    assert_eq!(above, Some(Epoch(5)), "the agent in charge is silent, so another may follow");
    assert_eq!(
        store.admit(&hello(id, 7, "b", 3)).await.unwrap(),
        Admitted::Welcome,
        "a greater epoch takes over"
    );
    assert_eq!(store.standings().await.unwrap()[&id].epoch, Epoch(7));
}

#[tokio::test]
async fn a27_a_revoked_cluster_opens_nothing() {
    let store = testing::store().await;
    let id = active(&store).await;
    store.admit(&hello(id, 1, "a", 1)).await.unwrap();
    store.revoke_cluster(id, &entry("cluster.revoke")).await.unwrap();
    assert_eq!(store.admit(&hello(id, 2, "a", 1)).await.unwrap(), Admitted::NotActive);
    assert_eq!(store.offer(&offer(id, identity())).await.unwrap(), Offered::BadCode);
    let cluster = store.cluster(id).await.unwrap().unwrap();
    assert_eq!((cluster.state, cluster.identity), (State::Revoked, None));
    assert!(!store.standings().await.unwrap()[&id].active);
}

#[tokio::test]
async fn the_newest_heartbeat_counts() {
    let store = testing::store().await;
    let id = active(&store).await;
    let beat = |millis, skew_ms| Beat {
        cluster: id,
        heard_at: NOW.plus_millis(millis),
        skew_ms,
        spool_bytes: 9,
        applied_generation: 2,
    };
    let note = async |beat| store.note_beats(&[beat], NOW.plus_millis(2_000)).await.unwrap();
    note(beat(1_000, 3)).await;
    note(beat(500, 4)).await;
    let cluster = store.cluster(id).await.unwrap().unwrap();
    assert_eq!((cluster.last_heard_at, cluster.clock_skew_ms), (Some(NOW.plus_millis(1_000)), Some(3)));
    note(beat(3_600_000, 5)).await;
    note(beat(1_500, 6)).await;
    let cluster = store.cluster(id).await.unwrap().unwrap();
    let heard = (cluster.last_heard_at, cluster.clock_skew_ms);
    assert_eq!(
        heard,
        (Some(NOW.plus_millis(1_500)), Some(6)),
        "a clock that was ahead once hides no later word"
    );
}

#[tokio::test]
async fn a_restored_database_counts_on_above_what_the_agent_holds() {
    let store = testing::store().await;
    let id = active(&store).await;
    let generation = async || store.standings().await.unwrap()[&id].desired_generation;
    let before = generation().await;
    assert!(!store.raise_generation(id, before).await.unwrap(), "it is as new as ours");
    assert!(store.raise_generation(id, 57).await.unwrap());
    assert_eq!(generation().await, 58);
    assert!(!store.raise_generation(id, 40).await.unwrap());
    assert!(!store.raise_generation(id, u64::MAX).await.unwrap());
    assert!(!store.raise_generation(id, 1 << 53).await.unwrap());
    assert_eq!(generation().await, 58);
}

#[tokio::test]
async fn keys_rotate_only_from_what_they_were() {
    let store = testing::store().await;
    let id = active(&store).await;
    store.rotate_keys(id, &jwks("A"), &jwks("C"), &entry("cluster.keys")).await.unwrap();
    store.rotate_keys(id, &jwks("A"), &jwks("D"), &entry("cluster.keys")).await.unwrap();
    let stored = store.cluster(id).await.unwrap().unwrap().identity.unwrap().jwks;
    assert!(stored.contains("\"C\""), "{stored}");
    let audited = store.audit_page(None, 50).await.unwrap();
    assert_eq!(audited.iter().filter(|row| row.action == "cluster.keys").count(), 1);
}

fn asked(epoch: u64, number: u64, noted: Option<u64>) -> Asked {
    Asked { renewal: Renewal { epoch: Epoch(epoch), number, ttl: 60_000 }, noted }
}

#[tokio::test]
async fn a_renewal_counts_for_the_life_in_charge_of_an_active_cluster_and_only_if_it_is_newer() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let renewed = async |epoch, number| {
        let asked = asked(epoch, number, None);
        store.renew(&[(east, asked)]).await.unwrap().contains_key(&east)
    };
    assert!(renewed(1, 5).await);
    assert!(!renewed(1, 5).await && !renewed(1, 4).await && !renewed(2, 9).await);
    assert!(renewed(1, 6).await);
    fixture::execute(&store, "update cluster set state = 'revoked', version = version + $1", 1).await;
    assert!(!renewed(1, 7).await, "a revoked cluster gets no lease");
    assert_eq!(store.renewals().await.unwrap()[&east].number, 6);
}

#[tokio::test]
async fn renewals_are_counted_as_core_counts_them() {
    let store = testing::store().await;
    let east = fixture::cluster(&store, "east").await;
    let (mut number, mut count) = (0, 0);
    for noted in [0, 0, 1, 2, 900, 1, 5, u64::MAX, 3] {
        number += 1;
        count = counted(count, noted);
        let promised = store.renew(&[(east, asked(1, number, Some(noted)))]).await.unwrap();
        assert_eq!(promised[&east].renewals, count, "noted {noted}");
    }
    let promised = store.renew(&[(east, asked(1, number + 1, None))]).await.unwrap();
    assert_eq!(promised[&east].renewals, count, "an agent that does not count changes nothing");
}

#[tokio::test]
async fn r11_a_copy_of_the_past_is_refused_until_a_person_says_that_the_cluster_is_dead() {
    let store = testing::store().await;
    let id = active(&store).await;
    store.admit(&hello(id, 1, "a", 1)).await.unwrap();
    for noted in 0..40 {
        store.renew(&[(id, asked(1, noted + 1, Some(noted)))]).await.unwrap();
    }
    let copy = || Hello { renewals: Some(20), ..hello(id, 9, "copy", 3) };
    let before = store.last_word(id).await.unwrap();
    let Admitted::Duplicate { alarm, above: None } = store.admit(&copy()).await.unwrap() else {
        panic!("the copy passed")
    };
    let cluster = store.cluster(id).await.unwrap().unwrap();
    assert_eq!((cluster.alarm.as_str(), cluster.agent_epoch, cluster.renewals), (alarm.as_str(), 1, 40));
    assert!(alarm.contains("declare-dead east"), "{alarm}");
    assert_eq!(store.last_word(id).await.unwrap(), before, "a copy that is refused was not heard");
    let silence = Judge { now: NOW.plus_millis(1_000), after_ms: 25_000 };
    let next = Hello { renewals: Some(39), silence, ..hello(id, 2, "b", 2) };
    assert_eq!(store.admit(&next).await.unwrap(), Admitted::Welcome, "the next life of the cluster");
    assert!(!store.forget_renewals(id, before).await.unwrap(), "it was heard since");
    let before = store.last_word(id).await.unwrap();
    assert!(store.forget_renewals(id, before).await.unwrap());
    assert_eq!(store.admit(&copy()).await.unwrap(), Admitted::Welcome);
}
