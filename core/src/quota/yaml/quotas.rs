//! Quotas: the list of flavors with their amounts, as our own queues and Kueue's resource groups both have it.

use std::collections::BTreeMap;

use super::{
    fields::{Reader, under},
    node::{Node, Value},
};
use crate::{
    quantity::milli,
    quota::{FlavorQuota, ORDINARY, Quota, Resource, amount},
    sentence::clip,
};

/// What a queue says about flavors, with the lines where it does.
#[derive(Default)]
pub(super) struct Quotas {
    pub(super) by_flavor: BTreeMap<String, FlavorQuota>,
    /// By `quotas.FLAVOR.RESOURCE.FIELD`.
    pub(super) lines: BTreeMap<String, u32>,
}

impl Quotas {
    /// Reads a list of `{name, resources: [{name, nominalQuota, borrowingLimit, lendingLimit}]}`.
    pub(super) fn read(&mut self, reader: &mut Reader, list: &[Node], path: &str) {
        for (index, node) in list.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let fields = reader.map(node, &path, &["name", "resources"]);
            let name = reader.required(fields.get("name"), node.line, &under(&path, "name"));
            let resources = reader.list(fields.get("resources"), &under(&path, "resources"));
            let Some(name) = name else { continue };
            if self.by_flavor.contains_key(name) {
                reader.problem(
                    node.line,
                    &path,
                    format!("names the flavor {:?} a second time", clip(name, 60)),
                );
                continue;
            }
            self.lines.insert(format!("quotas.{name}"), node.line);
            let amounts = self.amounts(reader, resources, name, &under(&path, "resources"));
            self.by_flavor.insert(name.to_owned(), amounts);
        }
    }

    fn amounts(&mut self, reader: &mut Reader, list: &[Node], flavor: &str, path: &str) -> FlavorQuota {
        let mut amounts = FlavorQuota::new();
        let mut names = BTreeMap::<Resource, &str>::new();
        for (index, node) in list.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let known = ["name", "nominalQuota", "borrowingLimit", "lendingLimit"];
            let fields = reader.map(node, &path, &known);
            let Some(name) = reader.required(fields.get("name"), node.line, &under(&path, "name")) else {
                continue;
            };
            let Some(resource) = Resource::from_name(name) else {
                reader.problem(node.line, &under(&path, "name"), not_counted(name));
                continue;
            };
            if let Some(first) = names.insert(resource, name) {
                let problem = format!("is counted together with {first}, which has a quota already");
                reader.problem(node.line, &path, problem);
                continue;
            }
            if !fields.contains_key("nominalQuota") {
                reader.problem(node.line, &under(&path, "nominalQuota"), "is missing");
            }
            let mut read = |field: &str| {
                let line = fields.get(field).map_or(node.line, |node| node.line);
                self.lines.insert(format!("quotas.{flavor}.{}.{field}", resource.word()), line);
                amount_of(reader, fields.get(field), resource, &under(&path, field))
            };
            let nominal = read("nominalQuota").unwrap_or_default();
            let (borrowing_limit, lending_limit) = (read("borrowingLimit"), read("lendingLimit"));
            amounts.insert(resource, Quota { nominal, borrowing_limit, lending_limit });
        }
        amounts
    }
}

fn not_counted(name: &str) -> String {
    format!(
        "{:?} is not counted here; quotas count cpu, memory and whole GPUs (gpu, nvidia.com/gpu, amd.com/gpu, \
         gpu.intel.com/i915, gpu.intel.com/xe)",
        clip(name, 60)
    )
}

fn amount_of(reader: &mut Reader, node: Option<&&Node>, resource: Resource, path: &str) -> Option<i64> {
    let text = reader.text(node, path)?;
    match amount::read(resource, text) {
        Ok(amount) => Some(amount),
        Err(problem) => {
            reader.problem(node.map_or(0, |node| node.line), path, problem);
            None
        }
    }
}

/// `fairSharing: {weight}` in thousandths; [`ORDINARY`] when nothing is said.
pub(super) fn fair_sharing(reader: &mut Reader, node: Option<&&Node>, path: &str) -> (u32, Option<u32>) {
    let Some(node) = node else { return (ORDINARY, None) };
    let fields = reader.map(node, path, &["weight"]);
    weight(reader, fields.get("weight"), &under(path, "weight"))
}

/// A weight in thousandths and its line.
pub(super) fn weight(reader: &mut Reader, node: Option<&&Node>, path: &str) -> (u32, Option<u32>) {
    let Some(text) = reader.text(node, path) else { return (ORDINARY, None) };
    let line = node.map(|node| node.line);
    match milli(text).ok().and_then(|weight| u32::try_from(weight).ok()) {
        Some(weight) => (weight, line),
        None => {
            let problem = format!("{:?} is no weight; write for example 1, 2 or 0.5", clip(text, 60));
            reader.problem(line.unwrap_or(0), path, problem);
            (ORDINARY, line)
        }
    }
}

/// A whole number that a priority may be.
pub(super) fn priority(reader: &mut Reader, node: Option<&&Node>, line: u32, path: &str) -> i32 {
    let Some(text) = reader.required(node, line, path) else { return 0 };
    text.parse().unwrap_or_else(|_| {
        let problem = format!(
            "{:?} is no priority; write a whole number from {} to {}",
            clip(text, 60),
            i32::MIN,
            i32::MAX
        );
        reader.problem(node.map_or(line, |node| node.line), path, problem);
        0
    })
}

/// The line of a value, or of what it should stand in.
pub(super) fn line_of(node: Option<&&Node>, around: &Node) -> u32 {
    node.map_or(around.line, |node| node.line)
}

/// A null where a map may stand.
pub(super) const NOTHING: Node = Node { line: 0, value: Value::Null };
