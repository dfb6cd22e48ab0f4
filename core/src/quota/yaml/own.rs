//! Our own kinds: Flavor, Queue, PriorityClass.

use super::{
    Book,
    fields::Reader,
    name,
    node::Node,
    preemption::preemption,
    quotas::{NOTHING, Quotas, line_of, priority, weight},
    tolerations::tolerations,
};
use crate::quota::{Flavor, PriorityClass, Queue};

pub(super) fn read(book: &mut Book, reader: &mut Reader, kind: &str, node: &Node) {
    let fields = reader.map(node, "", &["apiVersion", "kind", "metadata", "spec"]);
    let Some((name, line)) = name(reader, kind, &fields, node) else { return };
    let spec = fields.get("spec").copied().unwrap_or(&NOTHING);
    match kind {
        "Flavor" => flavor(book, reader, name, line, spec),
        "Queue" => queue(book, reader, name, line, spec),
        _ => class(book, reader, name, line, spec),
    }
}

fn flavor(book: &mut Book, reader: &mut Reader, name: &str, line: u32, spec: &Node) {
    let fields = reader.map(spec, "spec", &["nodeLabels", "tolerations", "weight"]);
    let node_labels = reader.texts(fields.get("nodeLabels"), "spec.nodeLabels");
    let (tolerations, mut lines) = tolerations(reader, fields.get("tolerations"));
    lines.extend(fields.get("nodeLabels").map(|node| ("nodeLabels".to_owned(), node.line)));
    let (weight, weight_line) = weight(reader, fields.get("weight"), "spec.weight");
    lines.extend(weight_line.map(|line| ("weight".to_owned(), line)));
    let flavor = Flavor { name: name.to_owned(), node_labels, tolerations, weight };
    book.flavor(reader, line, flavor, lines);
}

fn queue(book: &mut Book, reader: &mut Reader, name: &str, line: u32, spec: &Node) {
    let fields = reader.map(spec, "spec", &["parent", "weight", "flavors", "preemption"]);
    let parent = reader.text(fields.get("parent"), "spec.parent").map(str::to_owned);
    let (weight, weight_line) = weight(reader, fields.get("weight"), "spec.weight");
    let mut quotas = Quotas::default();
    let list = reader.list(fields.get("flavors"), "spec.flavors");
    quotas.read(reader, list, "spec.flavors");
    let mut lines = quotas.lines;
    lines.extend(weight_line.map(|line| ("weight".to_owned(), line)));
    lines.insert("parent".to_owned(), line_of(fields.get("parent"), spec).max(line));
    let (preemption, preemption_line) = preemption(reader, fields.get("preemption"), &[]);
    lines.extend(preemption_line.map(|line| ("preemption".to_owned(), line)));
    let queue = Queue { name: name.to_owned(), parent, weight, quotas: quotas.by_flavor, preemption };
    book.queue(reader, line, queue, lines);
}

fn class(book: &mut Book, reader: &mut Reader, name: &str, line: u32, spec: &Node) {
    let fields = reader.map(spec, "spec", &["value", "description"]);
    let value = priority(reader, fields.get("value"), spec.line.max(line), "spec.value");
    let description = reader.text(fields.get("description"), "spec.description").unwrap_or_default();
    let lines = fields.iter().map(|(field, node)| ((*field).to_owned(), node.line)).collect();
    let class = PriorityClass { name: name.to_owned(), value, description: description.to_owned() };
    book.class(reader, line, class, lines);
}
