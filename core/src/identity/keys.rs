//! Key sets: which keys of a cluster's JWKS may verify tokens, and which one a token is for.
//!
//! Invariant: only RSA of 2048 to 4096 bits with an odd exponent from 65537, EC P-256 and P-384, and Ed25519 get in. A
//! key that is no such key is left out with its reason and does not keep the others out.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Refusal,
    token::{Algorithm, Header, is_key_id},
};

/// Greatest key set, in bytes.
pub const SET_LIMIT: usize = 256 * 1024;
/// Greatest number of keys in a set.
pub const KEYS_LIMIT: usize = 32;

/// A public key, its numbers in base64url as the set had them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Material {
    Rsa { n: String, e: String },
    Ec { x: String, y: String },
    Ed25519 { x: String },
}

/// A key with the one algorithm that it is used with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    pub algorithm: Algorithm,
    pub material: Material,
}

/// The usable keys of a set by their id, and what was left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeySet {
    keys: BTreeMap<String, Key>,
    nameless: Option<Key>,
    /// Sentences on the keys that were left out.
    pub refused: Vec<String>,
}

/// Why a text is no key set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadKeySet {
    #[error("the key set is longer than {SET_LIMIT} bytes")]
    TooLong,
    #[error("the key set cannot be read: {0}")]
    Json(String),
    #[error("the key set has more than {KEYS_LIMIT} keys")]
    TooMany,
    #[error("the key set has no key that can be used ({0})")]
    Empty(String),
}

#[derive(Deserialize)]
struct RawSet {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct RawKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a JWKS document. At least one key must be usable.
    pub fn read(text: &str) -> Result<KeySet, BadKeySet> {
        if text.len() > SET_LIMIT {
            return Err(BadKeySet::TooLong);
        }
        let raw: RawSet = serde_json::from_str(text).map_err(|error| BadKeySet::Json(error.to_string()))?;
        if raw.keys.len() > KEYS_LIMIT {
            return Err(BadKeySet::TooMany);
        }
        let mut set = KeySet::default();
        for (index, value) in raw.keys.iter().enumerate() {
            if let Err(problem) = set.add(value) {
                set.refused.push(format!("key {index}: {problem}"));
            }
        }
        if set.keys.is_empty() && set.nameless.is_none() {
            return Err(BadKeySet::Empty(set.refused.join("; ")));
        }
        Ok(set)
    }

    fn add(&mut self, value: &Value) -> Result<(), String> {
        let raw = RawKey::deserialize(value).map_err(|error| error.to_string())?;
        let key = usable(&raw)?;
        match raw.kid {
            None if self.nameless.is_none() => self.nameless = Some(key),
            None => return Err("a second key without an id".into()),
            Some(kid) if !is_key_id(&kid) => return Err("its id is too long or not printable".into()),
            Some(kid) if self.keys.contains_key(&kid) => return Err("a second key with the same id".into()),
            Some(kid) => drop(self.keys.insert(kid, key)),
        }
        Ok(())
    }

    /// The key that the token is for: the one with its id, or the only one when the token names none.
    pub fn choose(&self, header: &Header) -> Result<&Key, Refusal> {
        let key = match &header.key_id {
            Some(kid) => self.keys.get(kid),
            None => self.only(),
        };
        let key = key.ok_or(Refusal::UnknownKey)?;
        if key.algorithm == header.algorithm { Ok(key) } else { Err(Refusal::OtherAlgorithm) }
    }

    fn only(&self) -> Option<&Key> {
        match (&self.nameless, self.keys.len()) {
            (Some(key), 0) => Some(key),
            (None, 1) => self.keys.values().next(),
            _ => None,
        }
    }

    /// Ids of the usable keys, in order.
    pub fn ids(&self) -> Vec<String> {
        self.keys.keys().cloned().collect()
    }

    /// Whether every usable key of `newer` is in this set with the same material.
    pub fn holds(&self, newer: &KeySet) -> bool {
        newer.keys.iter().all(|(kid, key)| self.keys.get(kid) == Some(key))
            && (newer.nameless.is_none() || newer.nameless == self.nameless)
    }

    /// Whether some key id stands for another key in `newer`: no rotation does that.
    pub fn contradicts(&self, newer: &KeySet) -> bool {
        newer.keys.iter().any(|(kid, key)| self.keys.get(kid).is_some_and(|ours| ours != key))
    }
}

fn usable(raw: &RawKey) -> Result<Key, String> {
    if raw.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
        return Err("it is not for signatures".into());
    }
    let (algorithm, material) = material(raw)?;
    let stated = raw
        .alg
        .as_deref()
        .map(|word| Algorithm::from_word(word).ok_or_else(|| format!("algorithm {word:?}")));
    let algorithm = match (stated.transpose()?, &material) {
        (None, _) => algorithm,
        (Some(Algorithm::Ps256), Material::Rsa { .. }) => Algorithm::Ps256,
        (Some(stated), _) if stated == algorithm => algorithm,
        (Some(_), _) => return Err("its algorithm does not fit its type".into()),
    };
    Ok(Key { algorithm, material })
}

fn material(raw: &RawKey) -> Result<(Algorithm, Material), String> {
    let (kty, crv) = (raw.kty.as_str(), raw.crv.as_deref());
    match (kty, crv) {
        ("RSA", _) => {
            let (n, e) = (member(&raw.n, "n")?, member(&raw.e, "e")?);
            rsa_is_strong(&n, &e)?;
            Ok((Algorithm::Rs256, Material::Rsa { n, e }))
        }
        ("EC", Some("P-256")) => Ok((Algorithm::Es256, ec(raw, 32)?)),
        ("EC", Some("P-384")) => Ok((Algorithm::Es384, ec(raw, 48)?)),
        ("OKP", Some("Ed25519")) => {
            Ok((Algorithm::EdDsa, Material::Ed25519 { x: sized(member(&raw.x, "x")?, "x", 32)? }))
        }
        _ => Err(format!("type {kty:?} with curve {:?} is not allowed", crv.unwrap_or(""))),
    }
}

fn ec(raw: &RawKey, bytes: usize) -> Result<Material, String> {
    let x = sized(member(&raw.x, "x")?, "x", bytes)?;
    let y = sized(member(&raw.y, "y")?, "y", bytes)?;
    Ok(Material::Ec { x, y })
}

fn member(value: &Option<String>, name: &str) -> Result<String, String> {
    value.clone().ok_or_else(|| format!("it has no {name}"))
}

fn decoded(text: &str, name: &str) -> Result<Vec<u8>, String> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| format!("its {name} is not base64url"))
}

fn sized(text: String, name: &str, bytes: usize) -> Result<String, String> {
    if decoded(&text, name)?.len() == bytes {
        Ok(text)
    } else {
        Err(format!("its {name} is not {bytes} bytes long"))
    }
}

fn rsa_is_strong(n: &str, e: &str) -> Result<(), String> {
    let modulus = decoded(n, "n")?;
    let leading = modulus.iter().take_while(|byte| **byte == 0).count();
    let bits = modulus
        .get(leading..)
        .map_or(0, |rest| rest.len() * 8 - rest.first().map_or(0, |byte| byte.leading_zeros() as usize));
    if !(2048..=4096).contains(&bits) {
        return Err(format!("an RSA key of {bits} bits is not between 2048 and 4096"));
    }
    let exponent = decoded(e, "e")?;
    if exponent.len() > 8 {
        return Err("its exponent is too long".into());
    }
    let value = exponent.iter().fold(0_u64, |value, byte| (value << 8) | u64::from(*byte));
    if value < 65_537 || value % 2 == 0 {
        return Err(format!("its exponent {value} is not an odd number from 65537"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rsa(bytes: usize, e: &[u8]) -> Value {
        let n = URL_SAFE_NO_PAD.encode(vec![0xff; bytes]);
        serde_json::json!({"kty": "RSA", "kid": "k", "n": n, "e": URL_SAFE_NO_PAD.encode(e)})
    }

    fn read(keys: &[Value]) -> Result<KeySet, BadKeySet> {
        KeySet::read(&serde_json::json!({ "keys": keys }).to_string())
    }

    fn with(mut key: Value, name: &str, value: &str) -> Value {
        key[name] = value.into();
        key
    }

    const E: &[u8] = &[1, 0, 1];

    #[test]
    fn a22_weak_and_foreign_keys_stay_out() {
        let p192 = serde_json::json!({"kty": "EC", "crv": "P-192", "x": "AAAA", "y": "AAAA"});
        let secret = serde_json::json!({"kty": "oct", "k": "c2VjcmV0"});
        let bad = [
            rsa(128, E),
            rsa(1024, E),
            rsa(256, &[3]),
            rsa(256, &[1, 0, 0]),
            rsa(256, &[1; 9]),
            p192,
            secret,
            with(rsa(256, E), "use", "enc"),
            with(rsa(256, E), "alg", "HS256"),
            with(rsa(256, E), "alg", "ES256"),
            with(rsa(256, E), "kid", "two words"),
            serde_json::json!({"kty": "OKP", "crv": "Ed25519", "x": "AAAA"}),
            serde_json::json!("no key"),
        ];
        for key in bad {
            assert!(matches!(read(std::slice::from_ref(&key)), Err(BadKeySet::Empty(_))), "{key}");
            let set = read(&[key, with(rsa(256, E), "kid", "good")]).unwrap();
            assert_eq!(set.ids(), ["good"], "a bad key does not keep a good one out");
            assert_eq!(set.refused.len(), 1);
        }
    }

    #[test]
    fn sets_are_bounded() {
        let many: Vec<Value> = (0..33).map(|i| with(rsa(256, E), "kid", &format!("k{i}"))).collect();
        assert_eq!(read(&many), Err(BadKeySet::TooMany));
        assert_eq!(KeySet::read(&" ".repeat(SET_LIMIT + 1)), Err(BadKeySet::TooLong));
        assert!(matches!(KeySet::read("{}"), Err(BadKeySet::Json(_))));
    }

    #[test]
    fn the_key_decides_the_algorithm() {
        let header = |algorithm, kid: Option<&str>| Header { algorithm, key_id: kid.map(str::to_owned) };
        let set = read(&[rsa(256, E)]).unwrap();
        assert!(set.choose(&header(Algorithm::Rs256, Some("k"))).is_ok());
        assert_eq!(set.choose(&header(Algorithm::Ps256, Some("k"))), Err(Refusal::OtherAlgorithm));
        assert_eq!(set.choose(&header(Algorithm::Rs256, Some("other"))), Err(Refusal::UnknownKey));
        assert!(set.choose(&header(Algorithm::Rs256, None)).is_ok(), "the only key needs no id");
        let two = read(&[rsa(256, E), with(rsa(256, E), "kid", "l")]).unwrap();
        assert_eq!(two.choose(&header(Algorithm::Rs256, None)), Err(Refusal::UnknownKey));
        let ps = read(&[with(rsa(256, E), "alg", "PS256")]).unwrap();
        assert_eq!(ps.choose(&header(Algorithm::Rs256, Some("k"))), Err(Refusal::OtherAlgorithm));
    }

    #[test]
    fn a_rotation_adds_keys_and_changes_none() {
        let old = read(&[rsa(256, E)]).unwrap();
        let rotated = read(&[rsa(256, E), with(rsa(384, E), "kid", "new")]).unwrap();
        assert!(!old.holds(&rotated) && !old.contradicts(&rotated));
        assert!(rotated.holds(&old));
        assert!(old.contradicts(&read(&[rsa(384, E)]).unwrap()));
    }
}
