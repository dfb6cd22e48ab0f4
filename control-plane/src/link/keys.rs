//! Key rotation: the agent shows its cluster's present key set at every hello.
//!
//! Invariant: keys are added on the word of an agent that the old keys verified, and every addition is audited. A key id
//! never comes to stand for another key. A key that left the set still verifies for as long as its tokens may live.

use serde_json::{Value, json};
use squadron_core::{
    identity::keys::{BadKeySet, KeySet},
    time::Timestamp,
};

use super::{guest::Guest, refuse};
use crate::{clock, state::AppState};

/// Mark on a key that left the set: Unix seconds until which it verifies.
const UNTIL: &str = "squadron_until";
/// An hour of life and the leeway.
const AFTERLIFE: i64 = 3_600 + 30;
/// Keys that one hello may add.
const NEW_KEYS: usize = 8;

/// The keys of a stored set that verify now.
pub fn in_force(stored: &str, now: Timestamp) -> Result<KeySet, BadKeySet> {
    let mut set: Value = serde_json::from_str(stored).map_err(|error| BadKeySet::Json(error.to_string()))?;
    let seconds = now.millis() / 1_000;
    if let Some(keys) = set.get_mut("keys").and_then(Value::as_array_mut) {
        keys.retain(|key| key.get(UNTIL).and_then(Value::as_i64).is_none_or(|until| until > seconds));
    }
    KeySet::read(&set.to_string())
}

/// What a pushed set makes of a stored one.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Rotation {
    Same,
    Changed { set: String, added: Vec<String> },
    Refused(String),
}

fn rotate(stored: &str, pushed: &str, now: Timestamp) -> Rotation {
    let (ours, theirs) = match (in_force(stored, now), KeySet::read(pushed)) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (_, Err(bad)) | (Err(bad), _) => return Rotation::Refused(bad.to_string()),
    };
    if ours.contradicts(&theirs) {
        return Rotation::Refused("a key id stands for another key than before".into());
    }
    let added: Vec<String> = theirs.ids().into_iter().filter(|id| !ours.ids().contains(id)).collect();
    if added.len() > NEW_KEYS {
        return Rotation::Refused(format!("it would add {} keys at once", added.len()));
    }
    let set = merge(stored, pushed, now);
    if set == parse(stored) { Rotation::Same } else { Rotation::Changed { set: set.to_string(), added } }
}

/// The pushed keys, and those of the stored set that are not among them, marked with their end.
fn merge(stored: &str, pushed: &str, now: Timestamp) -> Value {
    let seconds = now.millis() / 1_000;
    let mut keys = list(pushed);
    for key in &mut keys {
        if let Some(key) = key.as_object_mut() {
            key.remove(UNTIL);
        }
    }
    let id = |key: &Value| key.get("kid").cloned();
    let mut left: Vec<Value> =
        list(stored).into_iter().filter(|key| !keys.iter().any(|k| id(k) == id(key))).collect();
    left.retain(|key| key.get(UNTIL).and_then(Value::as_i64).is_none_or(|until| until > seconds));
    for key in &mut left {
        if key.get(UNTIL).is_none() {
            key[UNTIL] = json!(seconds + AFTERLIFE);
        }
    }
    keys.extend(left);
    json!({ "keys": keys })
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn list(text: &str) -> Vec<Value> {
    parse(text).get("keys").and_then(Value::as_array).cloned().unwrap_or_default()
}

/// Takes over what the agent pushed with its hello. A set that is refused sets the cluster's alarm, and ends nothing.
pub async fn push(app: &AppState, guest: &Guest, pushed: &str) -> squadron_store::Result<()> {
    let Some(identity) = app.store.cluster(guest.cluster).await?.and_then(|row| row.identity) else {
        return Ok(());
    };
    match rotate(&identity.jwks, pushed, clock::now()) {
        Rotation::Same => Ok(()),
        Rotation::Changed { set, added } => {
            let detail = format!("attested by the agent; new keys: {}", added.join(", "));
            let entry = refuse::entry(Some(guest.cluster), "cluster.keys", &detail);
            app.store.rotate_keys(guest.cluster, &identity.jwks, &set, &entry).await
        }
        Rotation::Refused(why) => {
            let alarm = format!(
                "the agent showed a key set that was not taken over: {why}; if the cluster's signing keys were replaced \
                 on purpose, revoke the cluster and add it again"
            );
            let entry = refuse::entry(Some(guest.cluster), "cluster.keys", &why);
            app.store
                .alarm(guest.cluster, &alarm, &squadron_store::audit::Entry { allowed: false, ..entry })
                .await
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const NOW: Timestamp = Timestamp(1_790_000_000_000_000);

    fn set(keys: &[(&str, char)]) -> String {
        let key = |(kid, x): &(&str, char)| {
            let x: String = std::iter::repeat_n(*x, 42).chain(['A']).collect();
            json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x})
        };
        json!({ "keys": keys.iter().map(key).collect::<Vec<_>>() }).to_string()
    }

    fn changed(rotation: Rotation) -> (String, Vec<String>) {
        match rotation {
            Rotation::Changed { set, added } => (set, added),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_key_that_left_verifies_as_long_as_its_tokens_live() {
        let (stored, added) = changed(rotate(&set(&[("a", 'A')]), &set(&[("b", 'B')]), NOW));
        assert_eq!(added, ["b"]);
        assert_eq!(in_force(&stored, NOW).unwrap().ids(), ["a", "b"]);
        let later = NOW.plus_millis((AFTERLIFE + 1) * 1_000);
        assert_eq!(in_force(&stored, later).unwrap().ids(), ["b"]);
        let (stored, _) = changed(rotate(&stored, &set(&[("b", 'B')]), later));
        assert!(!stored.contains("\"a\""), "{stored}");
        assert_eq!(rotate(&stored, &set(&[("b", 'B')]), later), Rotation::Same);
    }

    #[test]
    fn a_set_that_contradicts_or_floods_is_refused() {
        let stored = set(&[("a", 'A')]);
        assert!(matches!(rotate(&stored, &set(&[("a", 'B')]), NOW), Rotation::Refused(_)));
        assert!(matches!(rotate(&stored, "{}", NOW), Rotation::Refused(_)));
        let names: Vec<String> = (0..9).map(|n| format!("k{n}")).collect();
        let many: Vec<(&str, char)> = names.iter().map(|name| (name.as_str(), 'C')).collect();
        assert!(matches!(rotate(&stored, &set(&many), NOW), Rotation::Refused(_)));
    }

    #[test]
    fn an_agent_cannot_give_a_key_an_end_or_take_it_away() {
        let mut pushed: Value = serde_json::from_str(&set(&[("a", 'A'), ("b", 'B')])).unwrap();
        pushed["keys"][0][UNTIL] = json!(1);
        let (stored, _) = changed(rotate(&set(&[("a", 'A')]), &pushed.to_string(), NOW));
        assert_eq!(in_force(&stored, NOW).unwrap().ids(), ["a", "b"]);
    }
}
