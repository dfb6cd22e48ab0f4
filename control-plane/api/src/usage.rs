//! Usage and prices: what was held, by whom, for how much.

use serde::{Deserialize, Serialize};
use squadron_core::time::Timestamp;
use utoipa::{IntoParams, ToSchema};

/// Query of `GET /api/v1/usage`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub struct UsageQuery {
    /// RFC 3339; the start of the month by default.
    pub from: Option<String>,
    /// RFC 3339; now by default.
    pub to: Option<String>,
    /// Comma-separated: `team`, `job`, `cluster`, `kind`. `kind` by default.
    pub by: Option<String>,
}

/// `GET /api/v1/usage`: rows whose amounts sum exactly to the capacity cost of the nodes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Usage {
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub to: Timestamp,
    pub currency: String,
    pub rows: Vec<UsageRow>,
    pub total: UsageRow,
    /// What the nodes' capacity cost over the same time, computed on its own; equals the total.
    pub capacity_amount: String,
    /// For example: "sum of rows equals the nodes' capacity cost", or what is missing.
    pub reconciliation: String,
    /// Sentences on what is estimated or unknown, for example an open pod or a silent cluster.
    pub notes: Vec<String>,
}

/// One row; empty strings in the columns that were not asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageRow {
    /// `team`, `shared`, `overhead` or `idle`; `capacity` in no row.
    pub kind: String,
    pub team: String,
    /// Name of the job, with the end of its id where several jobs of the report carry the name.
    pub job: String,
    /// Its id.
    #[serde(default)]
    pub job_id: String,
    pub cluster: String,
    /// Decimals, for example `1.250000`.
    pub cpu_hours: String,
    pub memory_gib_hours: String,
    pub gpu_hours: String,
    /// Decimal in the sheet's currency with its minor unit, and four digits more while the total is under one; rows sum to
    /// the total by largest remainder.
    pub amount: String,
    /// The exact amount, an integer; 4831838208000000000000000000 of it are one unit of the currency (docs/prices.md).
    pub amount_exact: String,
}

/// `PUT /api/v1/price-sheets` takes the YAML of docs/prices.md as the body and answers with this.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PriceSheetReply {
    pub name: String,
    pub version: i64,
    pub currency: String,
    pub intervals: u32,
}
