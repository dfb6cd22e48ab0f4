//! The token's outside: its three parts and its header.
//!
//! Invariant: a header that names or brings a key of its own, or asks for rules that we do not know, is refused before
//! any key is looked up.

use serde::{Deserialize, Deserializer, de::IgnoredAny};

use super::Refusal;

/// Greatest token, in bytes.
pub const LIMIT: usize = 8 * 1024;
/// Greatest key id, in characters.
const KEY_ID_LIMIT: usize = 128;

/// The parts of a compact token, still encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts<'a> {
    pub header: &'a str,
    pub claims: &'a str,
    pub signature: &'a str,
    /// What the signature covers: header, a point, claims.
    pub signed: &'a str,
}

/// Splits a token into its parts: three, none empty, base64url without padding.
pub fn split(token: &str) -> Result<Parts<'_>, Refusal> {
    if token.len() > LIMIT {
        return Err(Refusal::TooLong);
    }
    let (signed, signature) = token.rsplit_once('.').ok_or(Refusal::Shape)?;
    let (header, claims) = signed.split_once('.').ok_or(Refusal::Shape)?;
    let encoded = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if [header, claims, signature].into_iter().all(encoded) {
        Ok(Parts { header, claims, signature, signed })
    } else {
        Err(Refusal::Shape)
    }
}

/// A signature algorithm that we take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    Rs256,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

impl Algorithm {
    pub fn from_word(word: &str) -> Option<Algorithm> {
        match word {
            "RS256" => Some(Algorithm::Rs256),
            "PS256" => Some(Algorithm::Ps256),
            "ES256" => Some(Algorithm::Es256),
            "ES384" => Some(Algorithm::Es384),
            "EdDSA" => Some(Algorithm::EdDsa),
            _ => None,
        }
    }
}

/// What a header that passed says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    pub algorithm: Algorithm,
    pub key_id: Option<String>,
}

#[derive(Deserialize)]
struct RawHeader {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    #[serde(default, deserialize_with = "present")]
    crit: bool,
    #[serde(default, deserialize_with = "present")]
    jku: bool,
    #[serde(default, deserialize_with = "present")]
    jwk: bool,
    #[serde(default, deserialize_with = "present")]
    x5u: bool,
    #[serde(default, deserialize_with = "present")]
    x5c: bool,
}

/// True for a member that is there, whatever it holds, `null` included.
fn present<'de, D: Deserializer<'de>>(input: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(input).map(|_| true)
}

/// Deepest nesting of lists and objects in a header or in claims; the API server's own go to 3.
const DEPTH: usize = 16;

/// Whether JSON nests deeper than any real token does. Members that we do not know are skipped when read, and so would
/// their depth be.
pub(super) fn is_deep(json: &[u8]) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    json.iter().any(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEPTH
    })
}

/// Reads the decoded header.
pub fn header(json: &[u8]) -> Result<Header, Refusal> {
    if is_deep(json) {
        return Err(Refusal::Header("it is nested too deeply".into()));
    }
    let raw: RawHeader = serde_json::from_slice(json).map_err(|error| Refusal::Header(error.to_string()))?;
    if raw.typ.as_deref().is_some_and(|typ| typ != "JWT") {
        return Err(Refusal::Type);
    }
    let forbidden =
        [(raw.crit, "crit"), (raw.jku, "jku"), (raw.jwk, "jwk"), (raw.x5u, "x5u"), (raw.x5c, "x5c")];
    if let Some((_, name)) = forbidden.into_iter().find(|(there, _)| *there) {
        return Err(Refusal::ForbiddenHeader(name));
    }
    let algorithm = Algorithm::from_word(&raw.alg).ok_or(Refusal::Algorithm)?;
    if raw.kid.as_deref().is_some_and(|kid| !is_key_id(kid)) {
        return Err(Refusal::KeyIdShape);
    }
    Ok(Header { algorithm, key_id: raw.kid })
}

/// 1 to 128 printable ASCII characters.
pub(super) fn is_key_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= KEY_ID_LIMIT && text.bytes().all(|b| b.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_three_and_carry_no_padding() {
        assert_eq!(split("a.b.c").map(|parts| parts.signed), Ok("a.b"));
        for bad in
            ["", "a.b", "a.b.c.d", "a..c", "a.b.", ".b.c", "a.b=.c", "a.b+.c", "a.b/.c", "a.b.c ", "a.b.é"]
        {
            assert_eq!(split(bad), Err(Refusal::Shape), "{bad:?}");
        }
        assert_eq!(split(&format!("a.{}.c", "b".repeat(LIMIT))), Err(Refusal::TooLong));
    }

    #[test]
    fn headers_that_bring_their_own_rules_are_refused() {
        let base = |extra: &str| header(format!(r#"{{"alg":"RS256","kid":"k"{extra}}}"#).as_bytes());
        assert!(base("").is_ok());
        assert!(base(r#","typ":"JWT""#).is_ok());
        assert_eq!(base(r#","typ":"jwt+at""#), Err(Refusal::Type));
        for name in ["crit", "jku", "jwk", "x5u", "x5c"] {
            for value in ["null", "[]", r#"["exp"]"#, r#""https://example.org""#, "{}"] {
                assert_eq!(base(&format!(r#","{name}":{value}"#)), Err(Refusal::ForbiddenHeader(name)));
            }
        }
    }

    #[test]
    fn algorithms_are_an_exact_list() {
        for word in ["none", "None", "NONE", "nOnE", "HS256", "RS512", "rs256", "ES512", "ES256K", ""] {
            assert_eq!(
                header(format!(r#"{{"alg":"{word}"}}"#).as_bytes()),
                Err(Refusal::Algorithm),
                "{word}"
            );
        }
        assert!(matches!(header(br#"{"alg":1}"#), Err(Refusal::Header(_))));
        assert!(matches!(header(br#"{"alg":"RS256","alg":"ES256"}"#), Err(Refusal::Header(_))));
    }

    #[test]
    fn depth_is_counted_outside_of_texts() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(!is_deep(nested(16).as_bytes()) && is_deep(nested(17).as_bytes()));
        assert!(!is_deep(format!(r#"{{"a":"\"{}"}}"#, nested(40)).as_bytes()));
    }

    #[test]
    fn key_ids_are_short_and_printable() {
        for kid in [String::new(), "k".repeat(129), "a b".into(), "ключ".into(), "a\\u0000".into()] {
            assert_eq!(
                header(format!(r#"{{"alg":"RS256","kid":"{kid}"}}"#).as_bytes()),
                Err(Refusal::KeyIdShape)
            );
        }
    }
}
