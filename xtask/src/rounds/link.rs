//! The link between MultiKueue's manager and a worker's API server: open, refused or swallowing.
//!
//! The manager dials a port of its own on the worker's node, which leads to the API server, so that a cut stops it and nobody
//! else: the cluster's own parts, its people and whoever counts containers still reach it. Owns one nftables table inside the
//! cluster's namespace, which goes with the namespace. Invariant: what is cut is cut both ways, open connections included.

use anyhow::Result;
use squadron_e2e::{command, testbed};

use crate::multikueue::Member;

/// The port that the manager dials.
pub const PORT: u16 = 16_443;
const TABLE: &str = "squadron_rounds_link";

/// What becomes of the manager's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    Open,
    /// Answered with a reset, as a closed port does.
    Refused,
    /// Dropped without a word.
    Swallowed,
}

impl Link {
    /// Makes the link of a worker so.
    pub fn apply(self, worker: &Member<'_>) -> Result<()> {
        let file = worker.folder()?.join("link.nft");
        std::fs::write(&file, self.rules())?;
        let file = file.to_string_lossy().into_owned();
        command::output(&mut testbed::testbed(["run-in", worker.cluster, "--", "nft", "-f", &file])).map(drop)
    }

    /// Packets of the manager are known by its port where they come in; answers by the port that the connection was made to.
    fn rules(self) -> String {
        let from_server = format!("meta l4proto tcp ct original proto-dst {PORT} drop");
        let (incoming, outgoing) = match self {
            Link::Open => (String::new(), String::new()),
            Link::Refused => (format!("tcp dport {PORT} reject with tcp reset"), from_server),
            Link::Swallowed => (format!("tcp dport {PORT} drop"), from_server),
        };
        format!(
            "table ip {TABLE} {{}}
delete table ip {TABLE}
table ip {TABLE} {{
  chain door {{
    type nat hook prerouting priority -100; policy accept;
    tcp dport {PORT} redirect to :6443
  }}
  chain incoming {{
    type filter hook prerouting priority -300; policy accept;
    {incoming}
  }}
  chain outgoing {{
    type filter hook output priority 0; policy accept;
    {outgoing}
  }}
}}
"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_stops_both_ways_and_the_door_stays() {
        for (link, drops, resets) in [(Link::Open, 0, 0), (Link::Refused, 1, 1), (Link::Swallowed, 2, 0)] {
            let rules = link.rules();
            assert_eq!(rules.matches(" drop\n").count(), drops, "{rules}");
            assert_eq!(rules.matches("reject with tcp reset").count(), resets, "{rules}");
            assert!(rules.contains("tcp dport 16443 redirect to :6443"), "{rules}");
        }
    }
}
