//! Resources in rows: three bigint columns, by their names.

use sqlx::{Row, postgres::PgRow};
use squadron_core::resources::Resources;

use crate::Result;

/// Reads cpu, memory and GPUs from the columns of those names.
pub(crate) fn resources(row: &PgRow, [cpu, memory, gpus]: [&str; 3]) -> Result<Resources> {
    Ok(Resources {
        cpu_milli: row.try_get(cpu)?,
        memory_bytes: row.try_get(memory)?,
        gpus: row.try_get(gpus)?,
    })
}

pub(crate) const PLAIN: [&str; 3] = ["cpu_milli", "memory_bytes", "gpus"];
pub(crate) const CAPACITY: [&str; 3] = ["capacity_cpu_milli", "capacity_memory_bytes", "capacity_gpus"];
pub(crate) const ALLOCATABLE: [&str; 3] =
    ["allocatable_cpu_milli", "allocatable_memory_bytes", "allocatable_gpus"];
