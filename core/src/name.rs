//! Names: strings that Kubernetes or people will see, validated once at the edge.
//!
//! Invariant: a value of these types is legal wherever its kind is used. A bad string is refused with a sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a string is no legal name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind} {text:?} {problem}")]
pub struct BadName {
    pub kind: &'static str,
    pub text: String,
    pub problem: String,
}

fn check(
    kind: &'static str,
    text: &str,
    max: usize,
    legal: fn(&str) -> bool,
    rule: &str,
) -> Result<(), BadName> {
    let problem = if text.is_empty() {
        "is empty".to_owned()
    } else if text.len() > max {
        format!("is longer than {max} characters")
    } else if !legal(text) {
        rule.to_owned()
    } else {
        return Ok(());
    };
    Err(BadName { kind, text: text.chars().take(80).collect(), problem })
}

/// RFC 1123 label: lower-case alphanumerics and `-`, alphanumeric at both ends.
fn is_dns_label(text: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = text.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

/// Whether a namespace belongs to Kubernetes itself: its service accounts and Secrets govern the whole cluster, so no
/// job may run there.
pub fn is_kubernetes_own(namespace: &str) -> bool {
    namespace.starts_with("kube-")
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $max:literal, $legal:expr, $rule:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Result<Self, BadName> {
                let text = text.into();
                check($kind, &text, $max, $legal, $rule)?;
                Ok($name(text))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;
            fn try_from(text: String) -> Result<Self, BadName> {
                $name::new(text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = BadName;
            fn from_str(text: &str) -> Result<Self, BadName> {
                $name::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// The name people give a cluster, for example `east`.
    ClusterName,
    "cluster name",
    40,
    is_dns_label,
    "must be lower-case letters, digits and '-', with a letter or digit at both ends"
);
name!(
    /// The path of a queue in the tenant tree, for example `research` or `acme/vision/training`.
    QueueName,
    "queue name",
    200,
    |text| text.split('/').all(|part| part.len() <= 63 && is_dns_label(part)),
    "must be '/'-separated parts of lower-case letters, digits and '-'"
);
name!(
    /// A namespace, or the name of an object that must be an RFC 1123 label.
    K8sName,
    "Kubernetes name",
    63,
    is_dns_label,
    "must be an RFC 1123 label: lower-case letters, digits and '-'"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_paths_are_checked_part_by_part() {
        assert!(QueueName::new("acme/vision").is_ok());
        assert!(QueueName::new("acme//vision").is_err());
        assert!(QueueName::new("Acme").is_err());
    }

    #[test]
    fn refusal_is_a_sentence() {
        let refused = ClusterName::new("-east").unwrap_err().to_string();
        assert!(refused.starts_with("cluster name \"-east\" must be lower-case letters"), "{refused}");
    }
}
