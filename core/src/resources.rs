//! Resources: what pods ask for and nodes offer, in integers.

use std::ops::{Add, Mul, Sub};

use serde::{Deserialize, Serialize};

/// An amount of the three things that are scheduled and paid for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Thousandths of a core.
    pub cpu_milli: i64,
    /// Bytes.
    pub memory_bytes: i64,
    /// Whole devices, summed over the extended resources that name a GPU (see [`is_gpu`]).
    pub gpus: i64,
}

impl Resources {
    /// Whether `self` fits into `room` in every dimension.
    pub fn fits(self, room: Resources) -> bool {
        self.cpu_milli <= room.cpu_milli && self.memory_bytes <= room.memory_bytes && self.gpus <= room.gpus
    }

    /// The larger of both in every dimension.
    pub fn max(self, other: Resources) -> Resources {
        Resources {
            cpu_milli: self.cpu_milli.max(other.cpu_milli),
            memory_bytes: self.memory_bytes.max(other.memory_bytes),
            gpus: self.gpus.max(other.gpus),
        }
    }

    /// The smaller of both in every dimension.
    pub fn min(self, other: Resources) -> Resources {
        Resources {
            cpu_milli: self.cpu_milli.min(other.cpu_milli),
            memory_bytes: self.memory_bytes.min(other.memory_bytes),
            gpus: self.gpus.min(other.gpus),
        }
    }
}

impl Add for Resources {
    type Output = Resources;
    fn add(self, other: Resources) -> Resources {
        Resources {
            cpu_milli: self.cpu_milli.saturating_add(other.cpu_milli),
            memory_bytes: self.memory_bytes.saturating_add(other.memory_bytes),
            gpus: self.gpus.saturating_add(other.gpus),
        }
    }
}

impl Sub for Resources {
    type Output = Resources;
    fn sub(self, other: Resources) -> Resources {
        Resources {
            cpu_milli: self.cpu_milli.saturating_sub(other.cpu_milli),
            memory_bytes: self.memory_bytes.saturating_sub(other.memory_bytes),
            gpus: self.gpus.saturating_sub(other.gpus),
        }
    }
}

impl Mul<i64> for Resources {
    type Output = Resources;
    fn mul(self, times: i64) -> Resources {
        Resources {
            cpu_milli: self.cpu_milli.saturating_mul(times),
            memory_bytes: self.memory_bytes.saturating_mul(times),
            gpus: self.gpus.saturating_mul(times),
        }
    }
}

impl std::iter::Sum for Resources {
    fn sum<I: Iterator<Item = Resources>>(items: I) -> Resources {
        items.fold(Resources::default(), Add::add)
    }
}

/// Whether an extended resource name counts GPUs.
pub fn is_gpu(resource: &str) -> bool {
    matches!(resource, "nvidia.com/gpu" | "amd.com/gpu" | "gpu.intel.com/i915" | "gpu.intel.com/xe")
}
