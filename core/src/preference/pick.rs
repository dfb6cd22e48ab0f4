//! Pick: a cluster by its name, or clusters by a label.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{name::ClusterName, sentence::clip};

/// Which clusters are meant. Written as `west`, or as `region=eu-west-1`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pick {
    Cluster(String),
    Label { key: String, value: String },
}

/// A text that means no clusters.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text:?} is neither the name of a cluster nor a label; write for example west or region=eu-west-1")]
pub struct BadPick {
    text: String,
}

impl TryFrom<String> for Pick {
    type Error = BadPick;

    fn try_from(text: String) -> Result<Pick, BadPick> {
        let bad = || BadPick { text: clip(&text, 60) };
        match text.split_once('=') {
            Some((key, value)) => {
                let legal = is_key(key) && is_value(value);
                let label = Pick::Label { key: key.to_owned(), value: value.to_owned() };
                legal.then_some(label).ok_or_else(bad)
            }
            None => {
                let name = ClusterName::new(text.clone()).map_err(|_| bad())?;
                Ok(Pick::Cluster(name.to_string()))
            }
        }
    }
}

impl From<Pick> for String {
    fn from(pick: Pick) -> String {
        pick.to_string()
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pick::Cluster(name) => f.write_str(name),
            Pick::Label { key, value } => write!(f, "{key}={value}"),
        }
    }
}

/// Whether this can be the key of a cluster's label: like a key in Kubernetes, with an optional prefix before a `/`.
pub fn is_key(text: &str) -> bool {
    let (prefix, name) = text.rsplit_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    is_word(name, 63) && prefix.is_none_or(|prefix| is_word(prefix, 253) && !prefix.contains('_'))
}

/// Whether this can be the value of a cluster's label.
pub fn is_value(text: &str) -> bool {
    is_word(text, 63)
}

/// Letters and digits at both ends, `-`, `_` and `.` between.
fn is_word(text: &str, longest: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    let inner = |byte: u8| plain(byte) || matches!(byte, b'-' | b'_' | b'.');
    let bytes = text.as_bytes();
    (1..=longest).contains(&bytes.len())
        && bytes.iter().all(|byte| inner(*byte))
        && bytes.first().is_some_and(|byte| plain(*byte))
        && bytes.last().is_some_and(|byte| plain(*byte))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_and_labels_are_told_apart_and_come_back_as_written() {
        for text in ["west", "region=eu-west-1", "squadron.dev/tier=gold", "data/imagenet=near"] {
            let pick = Pick::try_from(text.to_owned()).unwrap();
            assert_eq!(String::from(pick), text);
        }
        for text in ["", "=", "a=", "=b", "West", "a b", "region=eu west", "a/b/c=d", "_a=b", "a=b=c", "a=b-"]
        {
            let refused = Pick::try_from(text.to_owned()).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("{text:?} is neither")), "{refused}");
        }
    }
}
