//! Kueue's kinds, read into ours.
//!
//! A ResourceFlavor is a flavor of ordinary weight; a Cohort and a ClusterQueue are queues; a LocalQueue is a queue `NAMESPACE/NAME` below its
//! ClusterQueue; a WorkloadPriorityClass is a priority class. A cohort that is only named is a queue without quotas.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Book,
    fields::{Reader, Refused, under},
    kueue_fields::{BORROWING_PREEMPTION, CLUSTER_QUEUE, FUNGIBILITY, LOCAL_QUEUE, RESOURCE_FLAVOR},
    name,
    node::{Node, Value},
    preemption::preemption,
    quotas::{NOTHING, Quotas, fair_sharing, line_of, priority},
    tolerations::tolerations,
};
use crate::{
    quota::{Flavor, PriorityClass, Queue, declared::Place},
    sentence::{clip, list},
};

type Fields<'n> = BTreeMap<&'n str, &'n Node>;

/// `newer` is v1beta2, where a few fields have other names.
pub(super) fn read(book: &mut Book, reader: &mut Reader, newer: bool, kind: &str, node: &Node) {
    let is_class = kind == "WorkloadPriorityClass";
    let known: &[&str] = if is_class {
        &["apiVersion", "kind", "metadata", "value", "description"]
    } else {
        &["apiVersion", "kind", "metadata", "spec", "status"]
    };
    let fields = reader.map(node, "", known);
    let Some((name, line)) = name(reader, kind, &fields, node) else { return };
    let spec = fields.get("spec").copied().unwrap_or(&NOTHING);
    let mut object = Object { book, reader, name, line, spec };
    match kind {
        "ResourceFlavor" => object.flavor(),
        "Cohort" => object.cohort(),
        "ClusterQueue" => object.cluster_queue(newer),
        "LocalQueue" => {
            let namespace = fields.get("metadata").and_then(|metadata| metadata.text("namespace"));
            object.local_queue(namespace.unwrap_or("default"));
        }
        _ => object.class(&fields, node.line),
    }
}

/// One object while it is read.
struct Object<'a, 'n> {
    book: &'a mut Book,
    reader: &'a mut Reader,
    name: &'n str,
    line: u32,
    spec: &'n Node,
}

impl<'n> Object<'_, 'n> {
    /// The spec's fields: those that are read, and those that are refused.
    fn fields(&mut self, read: &[&str], refused: &[&Refused]) -> Fields<'n> {
        let known: Vec<&str> =
            read.iter().copied().chain(refused.iter().map(|refused| refused.field)).collect();
        self.reader.map(self.spec, "spec", &known)
    }

    fn flavor(&mut self) {
        let read = ["nodeLabels", "tolerations"];
        let fields = self.fields(&read, &RESOURCE_FLAVOR.iter().collect::<Vec<_>>());
        self.reader.refuse(&fields, "spec", RESOURCE_FLAVOR);
        let node_labels = self.reader.texts(fields.get("nodeLabels"), "spec.nodeLabels");
        let (tolerations, mut lines) = tolerations(self.reader, fields.get("tolerations"));
        lines.extend(fields.get("nodeLabels").map(|node| ("nodeLabels".to_owned(), node.line)));
        let flavor = Flavor { name: self.name.to_owned(), node_labels, tolerations, ..Flavor::default() };
        self.book.flavor(self.reader, self.line, flavor, lines);
    }

    fn cohort(&mut self) {
        let fields = self.fields(&["parentName", "resourceGroups", "fairSharing"], &[]);
        self.node_of_tree(&fields, "parentName");
    }

    fn cluster_queue(&mut self, newer: bool) {
        let parent = if newer { "cohortName" } else { "cohort" };
        let read = [parent, "resourceGroups", "fairSharing", "flavorFungibility", "preemption"];
        let refused = CLUSTER_QUEUE.iter().filter(|refused| !(newer && refused.field == "admissionChecks"));
        let fields = self.fields(&read, &refused.collect::<Vec<_>>());
        self.reader.refuse(&fields, "spec", CLUSTER_QUEUE);
        self.nested(&fields, "flavorFungibility", &[], FUNGIBILITY);
        let borrowing = fields.get("preemption").and_then(|node| node.get("borrowWithinCohort"));
        let borrowing: Fields<'n> = borrowing.map(|node| ("borrowWithinCohort", node)).into_iter().collect();
        self.nested_at(&borrowing, "spec.preemption", "borrowWithinCohort", &[], BORROWING_PREEMPTION);
        self.node_of_tree(&fields, parent);
    }

    fn nested(&mut self, fields: &Fields<'n>, field: &str, read: &[&str], table: &[Refused]) -> Fields<'n> {
        self.nested_at(fields, "spec", field, read, table)
    }

    /// Refuses within a map that stands in a field.
    fn nested_at(
        &mut self,
        fields: &Fields<'n>,
        path: &str,
        field: &str,
        read: &[&str],
        table: &[Refused],
    ) -> Fields<'n> {
        let Some(node) = fields.get(field) else { return Fields::new() };
        let path = under(path, field);
        let known: Vec<&str> =
            read.iter().copied().chain(table.iter().map(|refused| refused.field)).collect();
        let inner = self.reader.map(node, &path, &known);
        self.reader.refuse(&inner, &path, table);
        inner
    }

    /// A cohort or a cluster queue: what both have.
    fn node_of_tree(&mut self, fields: &Fields<'n>, parent_field: &str) {
        let path = under("spec", parent_field);
        let parent = self.reader.text(fields.get(parent_field), &path).filter(|name| !name.is_empty());
        let (weight, weight_line) = fair_sharing(self.reader, fields.get("fairSharing"), "spec.fairSharing");
        let quotas = self.groups(fields.get("resourceGroups"));
        let mut lines = quotas.lines;
        lines.extend(weight_line.map(|line| ("weight".to_owned(), line)));
        lines.extend(fields.get(parent_field).map(|node| ("parent".to_owned(), node.line)));
        let (preemption, line) = preemption(self.reader, fields.get("preemption"), &["borrowWithinCohort"]);
        lines.extend(line.map(|line| ("preemption".to_owned(), line)));
        let document = self.reader.document;
        let place = Place { document, line: line_of(fields.get(parent_field), self.spec) };
        self.book.cohorts.extend(parent.map(|name| (name.to_owned(), place)));
        let (name, parent) = (self.name.to_owned(), parent.map(str::to_owned));
        let queue = Queue { name, parent, weight, quotas: quotas.by_flavor, preemption };
        self.book.queue(self.reader, self.line, queue, lines);
    }

    fn groups(&mut self, node: Option<&&'n Node>) -> Quotas {
        let mut quotas = Quotas::default();
        for (index, group) in self.reader.list(node, "spec.resourceGroups").iter().enumerate() {
            let path = format!("spec.resourceGroups[{index}]");
            let fields = self.reader.map(group, &path, &["coveredResources", "flavors"]);
            let covered = self.reader.list(fields.get("coveredResources"), &under(&path, "coveredResources"));
            let path = under(&path, "flavors");
            let flavors = self.reader.list(fields.get("flavors"), &path);
            self.compare(covered, flavors, &path);
            quotas.read(self.reader, flavors, &path);
        }
        quotas
    }

    /// Every flavor of a group has a quota for exactly the resources that the group covers.
    fn compare(&mut self, covered: &[Node], flavors: &[Node], path: &str) {
        let text = |node: &'_ Node| match &node.value {
            Value::Text(text) => text.clone(),
            _ => String::new(),
        };
        let covered: BTreeSet<String> = covered.iter().map(text).collect();
        for (index, flavor) in flavors.iter().enumerate() {
            let Some(Node { value: Value::List(resources), .. }) = flavor.get("resources") else { continue };
            let named = resources.iter().map(|one| one.text("name").unwrap_or_default().to_owned());
            let named: BTreeSet<String> = named.collect();
            if named != covered {
                let problem =
                    format!("has quotas for {}, but the group covers {}", shown(&named), shown(&covered));
                self.reader.problem(flavor.line, &format!("{path}[{index}].resources"), problem);
            }
        }
    }

    fn local_queue(&mut self, namespace: &str) {
        let read = ["clusterQueue", "fairSharing"];
        let fields = self.fields(&read, &LOCAL_QUEUE.iter().collect::<Vec<_>>());
        self.reader.refuse(&fields, "spec", LOCAL_QUEUE);
        let line = line_of(fields.get("clusterQueue"), self.spec).max(self.line);
        let parent = self.reader.required(fields.get("clusterQueue"), line, "spec.clusterQueue");
        let (weight, weight_line) = fair_sharing(self.reader, fields.get("fairSharing"), "spec.fairSharing");
        let mut lines = BTreeMap::from([("parent".to_owned(), line)]);
        lines.extend(weight_line.map(|line| ("weight".to_owned(), line)));
        let queue = Queue {
            name: format!("{namespace}/{}", self.name),
            parent: parent.map(str::to_owned),
            weight,
            quotas: BTreeMap::new(),
            preemption: None,
        };
        self.book.queue(self.reader, self.line, queue, lines);
    }

    fn class(&mut self, fields: &Fields<'_>, line: u32) {
        let value = priority(self.reader, fields.get("value"), line, "value");
        let description = self.reader.text(fields.get("description"), "description").unwrap_or_default();
        let lines = fields.iter().map(|(field, node)| ((*field).to_owned(), node.line)).collect();
        let class = PriorityClass { name: self.name.to_owned(), value, description: description.to_owned() };
        self.book.class(self.reader, self.line, class, lines);
    }
}

/// Names that are shown at most.
const MOST_NAMES: usize = 10;

fn shown(names: &BTreeSet<String>) -> String {
    let mut shown: Vec<String> = names.iter().take(MOST_NAMES).map(|name| clip(name, 40)).collect();
    match names.len().saturating_sub(MOST_NAMES) {
        0 if names.is_empty() => return "nothing".to_owned(),
        0 => {}
        more => shown.push(format!("{more} more")),
    }
    list(&shown)
}
