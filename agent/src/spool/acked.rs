//! Acked: how far each stream was acknowledged, on disk.
//!
//! Losing or damaging this file costs nothing but sending again: the control plane says its watermarks on connect. So a
//! disk that is full or failing must never stop anybody who stores it.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    disk::{self, DiskError},
    record::{Class, Stream},
};

const NAME: &str = "acked.json";

#[derive(Serialize, Deserialize)]
struct Line {
    epoch: u64,
    class: u8,
    seq: u64,
}

/// What is stored; nothing if it cannot be read.
pub fn load_acked(folder: &Path) -> BTreeMap<Stream, u64> {
    let lines: Vec<Line> = std::fs::read(folder.join(NAME))
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let known = lines.into_iter().filter_map(|line| {
        let class = Class::from_code(line.class)?;
        Some((Stream { epoch: line.epoch, class }, line.seq))
    });
    known.collect()
}

/// Stores the whole if the disk takes it.
pub fn keep_acked(folder: &Path, acked: &BTreeMap<Stream, u64>) {
    if let Err(error) = store_acked(folder, acked) {
        let cause = &error.cause;
        tracing::warn!(%error, %cause, "what was acknowledged is not noted; a restart sends some of it again");
    }
}

fn store_acked(folder: &Path, acked: &BTreeMap<Stream, u64>) -> Result<(), DiskError> {
    let lines: Vec<Line> = acked
        .iter()
        .map(|(stream, seq)| Line { epoch: stream.epoch, class: stream.class.code(), seq: *seq })
        .collect();
    disk::replace(&folder.join(NAME), &serde_json::to_vec(&lines).unwrap_or_default())
}
