//! Ids: one distinct type per noun, so that a job id never lands where a cluster id belongs.
//!
//! Ids are made by the shell (UUIDv7) and handed in; nothing here draws one.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map($name)
            }
        }
    };
}

id!(
    /// An enrolled Kubernetes cluster.
    ClusterId
);
id!(
    /// What a person asked to run.
    JobId
);
id!(
    /// Facts and failures with one cause.
    IncidentId
);
id!(
    /// One installation of the control plane; part of the audience of every agent token.
    ControlPlaneId
);

/// One placement of a job on one cluster. The number is the fencing token: it only grows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct AttemptId {
    pub job: JobId,
    /// Counts from 1.
    pub number: u32,
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.job, self.number)
    }
}

/// One life of a cluster's agent. A greater epoch supersedes a smaller one; records are numbered within it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);
