//! The API server's audit log, for clusters that were made with `--audit`: what was written, by whom, to the microsecond.
//!
//! Invariant: reads are left out, so that the log costs what the writes cost. Fails when the policy cannot be written.

use crate::error::Result;
use crate::files;
use crate::local::cluster::Cluster;

/// One line for each write, without bodies.
const POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
- level: Metadata
";

/// The flags of the API server; none for a cluster without an audit log.
pub fn flags(cluster: &Cluster) -> Result<Vec<String>> {
    if !cluster.settings.audit {
        return Ok(Vec::new());
    }
    let policy = cluster.path("audit-policy.yaml");
    files::replace(&policy, POLICY)?;
    Ok(vec![
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", cluster.log("audit").display()),
        "--audit-log-maxsize=1024".into(),
    ])
}
