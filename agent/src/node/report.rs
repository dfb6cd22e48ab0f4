//! Report: puts a kernel fact into the agent's namespace as an Event.
//!
//! The Event's name follows from node, boot and record, so that telling twice is one Event.

use std::{collections::BTreeMap, path::Path, time::Duration};

use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Api, Client, api::PostParams};
use sha2::{Digest, Sha256};
use squadron_core::fact::{KernelFact, KernelSignal};

use super::{KERNEL_LABEL, boot::Boot, kmsg::Record};

/// Annotation with the time of the line, RFC 3339 with microseconds.
pub const OBSERVED_AT: &str = "squadron.dev/observed-at";
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Tells facts of one log.
pub struct Reporter {
    events: Api<Event>,
    namespace: String,
    boot: Boot,
    prefix: String,
}

impl Reporter {
    pub fn new(client: Client, namespace: &str, node: &str, boot: &Boot, log: &Path) -> Reporter {
        let mut digest = Sha256::new();
        for part in [node.as_bytes(), boot.id.as_bytes(), log.as_os_str().as_encoded_bytes()] {
            digest.update(part);
            digest.update([0]);
        }
        let short: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let events = Api::namespaced(client, namespace);
        Reporter {
            events,
            namespace: namespace.to_owned(),
            boot: boot.clone(),
            prefix: format!("kernel-{short}"),
        }
    }

    /// Returns when the API server has the Event; tries for ever, because the position must not pass it.
    pub async fn report(&self, fact: &KernelFact, record: &Record) {
        let event = self.event(fact, record);
        let mut pause = FIRST_PAUSE;
        loop {
            match self.events.create(&PostParams::default(), &event).await {
                Ok(_) => return,
                Err(kube::Error::Api(status)) if status.code == 409 => return,
                Err(error) => tracing::warn!(%error, "a kernel line cannot be handed over yet"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn event(&self, fact: &KernelFact, record: &Record) -> Event {
        let at = self.boot.at(record.micros);
        let reason = match fact.signal {
            KernelSignal::Xid { .. } => "GpuXid",
            KernelSignal::OomKill { .. } => "OomKill",
        };
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{}-{}", self.prefix, record.seq)),
                namespace: Some(self.namespace.clone()),
                labels: Some(BTreeMap::from([(KERNEL_LABEL.to_owned(), "yes".to_owned())])),
                annotations: Some(BTreeMap::from([(OBSERVED_AT.to_owned(), at.to_string())])),
                ..ObjectMeta::default()
            },
            involved_object: ObjectReference {
                kind: Some("Node".to_owned()),
                name: Some(fact.node.clone()),
                namespace: Some(self.namespace.clone()),
                ..ObjectReference::default()
            },
            type_: Some("Warning".to_owned()),
            reason: Some(reason.to_owned()),
            message: serde_json::to_string(fact).ok(),
            source: Some(EventSource {
                component: Some("squadron-agent-node".to_owned()),
                host: Some(fact.node.clone()),
            }),
            ..Event::default()
        }
    }
}
