//! Preference: where a job may run, and where it would rather run.
//!
//! Owns what a person can say about places, as types, and how that is written: comma-separated words under one name each, in
//! annotations of the manifest, in flags and in requests, read by the same code in client and server. Hard ones (residency,
//! maximum price, spot) keep a job off a place; soft ones (prefer, avoid, data, spread) only rank the places that it may have.
//! Invariant: what was read is bounded and means one thing. Fails by refusing the whole, with every field and what to write
//! instead; repaired by who wrote it.

mod pick;
mod price;
mod read;

use serde::{Deserialize, Serialize};

pub use self::{
    pick::{BadPick, Pick, is_key, is_value},
    price::{BadPrice, MaxPrice, shown as price},
    read::{Fault, Field, Texts, read},
};

/// Everything that a job says about places. The default says nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// Places that it would rather have, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefer: Vec<Pick>,
    /// Places that it takes only if there is no other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub avoid: Vec<Pick>,
    /// Data sets that it reads; it would rather be near them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<String>,
    /// Jobs of its queue with the same word go to different clusters as far as that is possible; empty for none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub spread: String,
    /// The only regions that it may run in; empty for any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub residency: Vec<String>,
    /// Most that it may cost an hour with its head, submitter and minimum workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_price: Option<MaxPrice>,
    /// It may not run on nodes that their owner can take away at any time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_spot: bool,
}

/// A cluster's label that names its region, or the region that its nodes report.
pub const REGION: &str = "region";

/// A cluster's label that names its zone, or the zones that its nodes report.
pub const ZONE: &str = "zone";

/// What the label of a cluster begins with that says that a data set is near, for example `data/imagenet`.
pub const DATA: &str = "data/";
