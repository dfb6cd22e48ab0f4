//! Names of clusters, checked once at the door.
//!
//! Invariant: a `Name` fits into a network namespace, a cgroup, a certificate and a Kubernetes object name.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// Longest name, in bytes. `sqt-NAME` and `NAME-node` then fit everywhere.
const LONGEST: usize = 40;

/// The name of a cluster of the testbed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Name(String);

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let edges = !text.starts_with('-') && !text.ends_with('-');
        if !text.is_empty() && text.len() <= LONGEST && text.chars().all(inside) && edges {
            return Ok(Self(text.to_owned()));
        }
        Err(Error::Refused(format!(
            "\"{text}\" cannot name a cluster: use 1 to {LONGEST} of a-z, 0-9 and '-', not at the edges"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_names_pass() {
        for good in ["east", "a", "kind-1", "0x"] {
            assert!(good.parse::<Name>().is_ok(), "{good}");
        }
    }

    #[test]
    fn bad_names_are_refused() {
        let long = "a".repeat(LONGEST + 1);
        for bad in ["", "East", "a b", "-a", "a-", "../etc", "a/b", "ä", long.as_str()] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }
}
