//! Policy as YAML: our own kinds, and those of Kueue, in any number of documents.
//!
//! Owns what a text may say. Invariant: a text is taken whole or not at all; everything that is wrong with it is told
//! together, each with document, line and reason; and what [`write`] writes reads as the same policy. The client and the
//! server run this same code.

mod fields;
mod kueue;
mod kueue_fields;
mod node;
mod own;
mod preemption;
mod quotas;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod tests;
mod tolerations;
mod write;

use std::collections::BTreeMap;

use self::{
    fields::Reader,
    node::{Node, Value},
};
pub use self::{
    node::{LONGEST, MOST_DOCUMENTS},
    write::write,
};
use crate::{
    nearest::nearest,
    quota::{
        Flavor, Noun, PriorityClass, Queue,
        declared::{Declared, Item, Place, Problem, told},
    },
    sentence::clip,
};

/// Group and version of our own kinds.
pub const API_VERSION: &str = "squadron.dev/v1";

/// Reads a text, or says everything that is wrong with it. Whether the whole is sound is for
/// [`crate::quota::check::check`] to say, of the policy that comes of it.
pub fn read(text: &str) -> Result<Declared, Vec<Problem>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (documents, count) = node::documents(text).map_err(|problem| vec![problem])?;
    let mut book = Book::default();
    for (document, node) in &documents {
        object(&mut book, *document, node);
    }
    book.settle();
    if !book.problems.is_empty() {
        return Err(told(book.problems));
    }
    Ok(Declared { documents: count, ..book.declared })
}

/// What was read so far.
#[derive(Default)]
struct Book {
    declared: Declared,
    /// Cohorts that Kueue's objects name, and where.
    cohorts: Vec<(String, Place)>,
    problems: Vec<Problem>,
}

impl Book {
    fn flavor(&mut self, reader: &mut Reader, line: u32, flavor: Flavor, lines: BTreeMap<String, u32>) {
        if self.enter(reader, line, Noun::Flavor, &flavor.name, lines) {
            self.declared.policy.flavors.push(flavor);
        }
    }

    fn queue(&mut self, reader: &mut Reader, line: u32, queue: Queue, lines: BTreeMap<String, u32>) {
        if self.enter(reader, line, Noun::Queue, &queue.name, lines) {
            self.declared.policy.queues.push(queue);
        }
    }

    fn class(&mut self, reader: &mut Reader, line: u32, class: PriorityClass, lines: BTreeMap<String, u32>) {
        if self.enter(reader, line, Noun::PriorityClass, &class.name, lines) {
            self.declared.policy.priority_classes.push(class);
        }
    }

    /// Remembers where a thing stands; false, and a problem, when it stands there already.
    fn enter(
        &mut self,
        reader: &mut Reader,
        line: u32,
        noun: Noun,
        name: &str,
        fields: BTreeMap<String, u32>,
    ) -> bool {
        if let Some(first) = self.declared.place(noun, name) {
            let problem = format!(
                "there is a {} of this name already, in line {} (document {})",
                noun.word(),
                first.line,
                first.document
            );
            reader.problem(line, "metadata.name", problem);
            return false;
        }
        let place = Place { document: reader.document, line };
        self.declared.items.insert((noun, name.to_owned()), Item { place, fields });
        true
    }

    /// Cohorts that no object describes exist all the same.
    fn settle(&mut self) {
        for (name, place) in std::mem::take(&mut self.cohorts) {
            if self.declared.place(Noun::Queue, &name).is_none() {
                self.declared.implied.entry(name).or_insert(place);
            }
        }
    }
}

/// Bytes of a name at most: as long as Kubernetes' longest, twice, for `NAMESPACE/NAME`.
const LONGEST_NAME: usize = 507;

/// Kinds by their API versions.
const OWN: [&str; 3] = ["Flavor", "Queue", "PriorityClass"];
const KUEUE: [&str; 5] = ["ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue", "WorkloadPriorityClass"];

/// One object, or a list of them as kubectl prints it.
fn object(book: &mut Book, document: u32, node: &Node) {
    let mut reader = Reader { document, what: String::new(), problems: Vec::new() };
    let kind = node.text("kind").unwrap_or_default();
    let version = node.text("apiVersion").unwrap_or_default();
    match (version, kind) {
        _ if !matches!(node.value, Value::Map(_)) => {
            reader.problem(node.line, "", "must be a map with apiVersion, kind and metadata");
        }
        ("v1", "List") => {
            let fields = reader.map(node, "", &["apiVersion", "kind", "metadata", "items"]);
            for item in reader.list(fields.get("items"), "items") {
                object(book, document, item);
            }
        }
        (API_VERSION, kind) if OWN.contains(&kind) => own::read(book, &mut reader, kind, node),
        ("kueue.x-k8s.io/v1beta1" | "kueue.x-k8s.io/v1beta2", kind) if KUEUE.contains(&kind) => {
            kueue::read(book, &mut reader, version.ends_with("v1beta2"), kind, node);
        }
        _ => refuse_kind(&mut reader, version, kind, node),
    }
    book.problems.append(&mut reader.problems);
}

fn refuse_kind(reader: &mut Reader, version: &str, kind: &str, node: &Node) {
    let is_kueue = version.starts_with("kueue.x-k8s.io/");
    let kinds: &[&str] = if is_kueue { &KUEUE } else { &OWN };
    let line = |field: &str| node.get(field).map_or(node.line, |node| node.line);
    if kinds.contains(&kind) && is_kueue {
        let problem = format!("is {:?}; of Kueue v1beta1 and v1beta2 are read", clip(version, 60));
        return reader.problem(line("apiVersion"), "apiVersion", problem);
    }
    if kinds.contains(&kind) || !is_kueue && version != API_VERSION {
        let problem = format!(
            "is {:?}; write {API_VERSION}, or kueue.x-k8s.io/v1beta2 for Kueue's kinds",
            clip(version, 60)
        );
        return reader.problem(line("apiVersion"), "apiVersion", problem);
    }
    let meant = nearest(kind, kinds.iter().copied()).map(|near| format!("; did you mean {near}?"));
    let problem = format!(
        "is {:?}, which is no policy; {version} has {}{}",
        clip(kind, 60),
        kinds.join(", "),
        meant.unwrap_or_default()
    );
    reader.problem(line("kind"), "kind", problem);
}

/// What the API server writes, and what carries no policy.
const METADATA: [&str; 13] = [
    "name",
    "labels",
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The name of an object, which every one has, and its line. From here on the reader speaks of the object by it.
fn name<'n>(
    reader: &mut Reader,
    kind: &str,
    fields: &BTreeMap<&str, &'n Node>,
    node: &Node,
) -> Option<(&'n str, u32)> {
    kind.clone_into(&mut reader.what);
    let metadata = fields.get("metadata");
    let Some(metadata) = metadata else {
        reader.problem(node.line, "metadata.name", "is missing");
        return None;
    };
    let name = metadata.text("name");
    reader.what = format!("{kind} {}", clip(name.unwrap_or_default(), 80));
    let mut known = METADATA.to_vec();
    if kind == "LocalQueue" {
        known.push("namespace");
    }
    let fields = reader.map(metadata, "metadata", &known);
    let name = reader.required(fields.get("name"), metadata.line, "metadata.name")?;
    // Every fault of the object repeats its name.
    if name.len() > LONGEST_NAME {
        let problem = format!("is longer than {LONGEST_NAME} bytes");
        reader.problem(metadata.line, "metadata.name", problem);
        return None;
    }
    Some((name, fields.get("name").map_or(node.line, |name| name.line)))
}
