//! Cuts a cluster off from the control plane, and heals the cut.
//!
//! Owns one nftables table inside the cluster's namespace. Invariant: a cut drops every packet between the cluster
//! (node and pods) and the control plane's ports on the host, both ways, without a word: nobody gets a reset, open
//! connections included; or, when it is to refuse, answers what the cluster sends with a reset, as a closed port does.
//! The host still reaches the API server. The table goes with the namespace.

use crate::error::Result;
use crate::local::cluster::Cluster;
use crate::local::network::inside;
use crate::program;

const TABLE: &str = "squadron_testbed_cut";

/// Drops or refuses all traffic to these ports of the host. A second cut replaces the first.
pub fn cut(cluster: &Cluster, ports: &[u16], refuse: bool) -> Result<()> {
    let rules = rules(&cluster.host_address().to_string(), ports, refuse);
    program::feed("cut the cluster off", &mut inside(cluster, ["nft", "-f", "-"]), &rules).map(|_| ())
}

/// Lets the traffic through again. Healing a cluster that is not cut changes nothing.
pub fn heal(cluster: &Cluster) -> Result<()> {
    let rules = format!("table inet {TABLE} {{}}\ndelete table inet {TABLE}\n");
    program::feed("heal the cut", &mut inside(cluster, ["nft", "-f", "-"]), &rules).map(|_| ())
}

/// True while the cluster is cut off.
pub fn is_cut(cluster: &Cluster) -> bool {
    program::holds(&mut inside(cluster, ["nft", "list", "table", "inet", TABLE]))
}

/// Packets that come in are dropped before routing (from the host, and from pods on their way out), packets of the
/// node itself where they leave.
fn rules(host: &str, ports: &[u16], refuse: bool) -> String {
    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
    let ports = ports.join(", ");
    let (protocols, end) = if refuse { ("tcp", "reject with tcp reset") } else { ("{ tcp, udp }", "drop") };
    let to = format!("ip daddr {host} meta l4proto {protocols} th dport {{ {ports} }} {end}");
    let from = format!("ip saddr {host} meta l4proto {{ tcp, udp }} th sport {{ {ports} }} drop");
    format!(
        "table inet {TABLE} {{}}
delete table inet {TABLE}
table inet {TABLE} {{
  chain incoming {{
    type filter hook prerouting priority -300; policy accept;
    {to}
    {from}
  }}
  chain outgoing {{
    type filter hook output priority -300; policy accept;
    {to}
  }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_and_all_ports_are_dropped() {
        let text = rules("10.201.1.1", &[7443, 8443], false);
        assert_eq!(text.matches("dport { 7443, 8443 } drop").count(), 2);
        assert_eq!(text.matches("sport { 7443, 8443 } drop").count(), 1);
        assert_eq!(text.matches("10.201.1.1").count(), 3);
        assert!(!text.contains("reject"));
    }

    #[test]
    fn a_refusing_cut_answers_the_cluster_and_drops_what_comes_in() {
        let text = rules("10.201.1.1", &[7443], true);
        assert_eq!(text.matches("l4proto tcp th dport { 7443 } reject with tcp reset").count(), 2);
        assert_eq!(text.matches("sport { 7443 } drop").count(), 1);
    }
}
