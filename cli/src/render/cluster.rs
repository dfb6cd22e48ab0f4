//! Clusters in lists and by themselves.

use squadron_api::cluster::{Cluster, ClusterIdentity};

use super::{
    View,
    amount::{cores, memory, resources},
    list::Row,
    or_dash, plain,
    style::Style,
    table::{Cell, Column, left, right},
    time::{absolute, absolute_or_nothing, age},
};

const TABLE: &[Column] = &[
    left("NAME"),
    left("STATE"),
    left("HEARD"),
    right("NODES"),
    right("FREE-CPU"),
    right("FREE-MEMORY"),
    right("FREE-GPU"),
    left("AGENT"),
    left("KUBERNETES"),
];

const WIDE: &[Column] = &[
    left("NAME"),
    left("STATE"),
    left("HEARD"),
    right("NODES"),
    right("CPU"),
    right("FREE-CPU"),
    right("MEMORY"),
    right("FREE-MEMORY"),
    right("GPU"),
    right("FREE-GPU"),
    left("AGENT"),
    left("KUBERNETES"),
    right("SKEW-MS"),
    right("SPOOL-BYTES"),
    left("ID"),
    left("SENTENCE"),
];

impl Row for Cluster {
    fn columns(wide: bool) -> &'static [Column] {
        if wide { WIDE } else { TABLE }
    }

    fn cells(&self, wide: bool, view: View) -> Vec<Cell> {
        if wide { wide_cells(self) } else { table_cells(self, view) }
    }

    fn record(&self) -> Vec<(&'static str, String)> {
        vec![
            ("id", self.id.to_string()),
            ("name", self.name.clone()),
            ("state", self.state.clone()),
            ("last_heard_at", absolute_or_nothing(self.last_heard_at)),
            ("silent_since", absolute_or_nothing(self.silent_since)),
            ("nodes", self.nodes.to_string()),
            ("cpu_cores", cores(self.allocatable.cpu_milli)),
            ("free_cpu_cores", cores(self.free.cpu_milli)),
            ("memory_bytes", self.allocatable.memory_bytes.to_string()),
            ("free_memory_bytes", self.free.memory_bytes.to_string()),
            ("gpus", self.allocatable.gpus.to_string()),
            ("free_gpus", self.free.gpus.to_string()),
            ("agent_version", self.agent_version.clone()),
            ("kubernetes_version", self.kubernetes_version.clone()),
            ("clock_skew_ms", self.clock_skew_ms.map(|ms| ms.to_string()).unwrap_or_default()),
            ("spool_bytes", self.spool_bytes.to_string()),
            ("alarm", self.alarm.clone()),
            ("untold", self.untold.to_string()),
            ("sentence", self.sentence.clone()),
        ]
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

fn table_cells(cluster: &Cluster, view: View) -> Vec<Cell> {
    let heard = cluster.last_heard_at.map(|at| format!("{} ago", age(at, view.now)));
    vec![
        cluster.name.as_str().into(),
        state(cluster),
        heard.unwrap_or_else(|| "never".into()).into(),
        cluster.nodes.to_string().into(),
        cores(cluster.free.cpu_milli).into(),
        memory(cluster.free.memory_bytes).into(),
        cluster.free.gpus.to_string().into(),
        or_dash(&cluster.agent_version).into(),
        or_dash(&cluster.kubernetes_version).into(),
    ]
}

fn wide_cells(cluster: &Cluster) -> Vec<Cell> {
    vec![
        cluster.name.as_str().into(),
        state(cluster),
        cluster.last_heard_at.map_or_else(|| "never".into(), absolute).into(),
        cluster.nodes.to_string().into(),
        cores(cluster.allocatable.cpu_milli).into(),
        cores(cluster.free.cpu_milli).into(),
        memory(cluster.allocatable.memory_bytes).into(),
        memory(cluster.free.memory_bytes).into(),
        cluster.allocatable.gpus.to_string().into(),
        cluster.free.gpus.to_string().into(),
        or_dash(&cluster.agent_version).into(),
        or_dash(&cluster.kubernetes_version).into(),
        cluster.clock_skew_ms.map_or_else(|| "-".into(), |ms| ms.to_string()).into(),
        cluster.spool_bytes.to_string().into(),
        cluster.id.to_string().into(),
        cluster.sentence.as_str().into(),
    ]
}

fn state(cluster: &Cluster) -> Cell {
    let beside = match (cluster.alarm.is_empty(), cluster.untold) {
        (false, _) => " (alarm)",
        (true, true) => " (untold)",
        (true, false) => "",
    };
    let style = if beside.is_empty() { Style::of_state(&cluster.state) } else { Style::Bad };
    Cell::styled(&format!("{}{beside}", cluster.state), style)
}

/// One cluster in full.
pub fn show(cluster: &Cluster, view: View) -> String {
    let state = Style::of_state(&cluster.state).paint(&plain(&cluster.state), view.colour);
    let mut text = format!("{}  {state}\n  {}\n", plain(&cluster.name), plain(&cluster.sentence));
    if !cluster.alarm.is_empty() {
        text.push_str(&format!(
            "  {}\n",
            Style::Bad.paint(&format!("alarm: {}", plain(&cluster.alarm)), view.colour)
        ));
    }
    text.push('\n');
    for (label, value) in facts(cluster, view) {
        text.push_str(&format!("  {label:<14}{value}\n"));
    }
    if let Some(offered) = &cluster.identity {
        text.push_str(&format!("\nIdentity\n{}", identity(offered)));
    }
    if let Some(offered) = &cluster.reoffer {
        text.push_str(&format!("\nAsks to be its agent from now on\n{}", identity(offered)));
    }
    text
}

fn facts(cluster: &Cluster, view: View) -> Vec<(&'static str, String)> {
    let heard = |at| format!("{} ({} ago)", absolute(at), age(at, view.now));
    let mut facts = vec![
        ("id", cluster.id.to_string()),
        ("heard", cluster.last_heard_at.map_or_else(|| "never".into(), heard)),
        ("nodes", cluster.nodes.to_string()),
        ("allocatable", resources(cluster.allocatable)),
        ("free", resources(cluster.free)),
        ("agent", or_dash(&cluster.agent_version)),
        ("kubernetes", or_dash(&cluster.kubernetes_version)),
        ("spool", memory(cluster.spool_bytes)),
    ];
    if let Some(since) = cluster.silent_since {
        facts.insert(1, ("silent since", heard(since)));
    }
    if !cluster.labels.is_empty() {
        facts.push(("labels", labels(cluster)));
    }
    if let Some(skew) = cluster.clock_skew_ms {
        facts.push(("clock skew", format!("{skew} ms")));
    }
    facts
}

/// What operators say of it, on one line; `none` for nothing.
pub fn labels(cluster: &Cluster) -> String {
    let all: Vec<String> =
        cluster.labels.iter().map(|(key, value)| plain(&format!("{key}={value}"))).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(" ") }
}

/// What a person compares before accepting a cluster.
pub fn identity(identity: &ClusterIdentity) -> String {
    let keys: Vec<String> = identity.key_ids.iter().map(|id| plain(id)).collect();
    format!(
        "  issuer           {}\n  subject          {}\n  account uid      {}\n  kube-system uid  {}\n  key ids          \
         {}\n  digest           {}\n",
        plain(&identity.issuer),
        plain(&identity.subject),
        plain(&identity.service_account_uid),
        plain(&identity.kube_system_uid),
        keys.join(", "),
        plain(&identity.digest),
    )
}

#[cfg(test)]
pub mod tests {
    #![allow(clippy::unwrap_used)]
    use squadron_core::{id::ClusterId, resources::Resources};

    use super::*;
    use crate::render::job::tests::{NOW, VIEW};

    pub fn silent() -> Cluster {
        Cluster {
            id: "0193a5a0-0000-7000-8000-0000000000c1".parse::<ClusterId>().unwrap(),
            name: "east".into(),
            state: "silent".into(),
            sentence: "No word for 6 m; its jobs may still run.".into(),
            last_heard_at: Some(NOW.plus_millis(-360_000)),
            silent_since: Some(NOW.plus_millis(-360_000)),
            reoffer: None,
            identity: Some(ClusterIdentity {
                issuer: "https://kubernetes.default.svc".into(),
                subject: "system:serviceaccount:squadron:squadron-agent".into(),
                kube_system_uid: "8d4e".into(),
                service_account_uid: "sa-1".into(),
                digest: "3f9c".into(),
                key_ids: vec!["kid-1".into()],
            }),
            agent_version: "0.1.0".into(),
            kubernetes_version: "v1.34.4".into(),
            clock_skew_ms: Some(12),
            spool_bytes: 4_096,
            nodes: 2,
            allocatable: Resources { cpu_milli: 8_000, memory_bytes: 16 << 30, gpus: 0 },
            free: Resources { cpu_milli: 6_500, memory_bytes: 12 << 30, gpus: 0 },
            alarm: String::new(),
            untold: false,
            labels: [("region".to_owned(), "eu-west-1".to_owned())].into(),
            version: 3,
        }
    }

    #[test]
    fn silent_cluster_says_since_when() {
        insta::assert_snapshot!(show(&silent(), VIEW), @"
        east  silent
          No word for 6 m; its jobs may still run.

          id            0193a5a0-0000-7000-8000-0000000000c1
          silent since  2026-11-30T00:57:20Z (6 m ago)
          heard         2026-11-30T00:57:20Z (6 m ago)
          nodes         2
          allocatable   8 CPU, 16 GiB
          free          6.5 CPU, 12 GiB
          agent         0.1.0
          kubernetes    v1.34.4
          spool         4 KiB
          labels        region=eu-west-1
          clock skew    12 ms

        Identity
          issuer           https://kubernetes.default.svc
          subject          system:serviceaccount:squadron:squadron-agent
          account uid      sa-1
          kube-system uid  8d4e
          key ids          kid-1
          digest           3f9c
        ");
    }
}
