//! Price sheets: every version is kept; the one that came last is in force, whatever clocks said.

use sqlx::{PgConnection, Row};
use squadron_core::time::Timestamp;

use crate::{Result, Store, at};

/// A sheet as it was handed in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SheetRow {
    pub name: String,
    pub version: i64,
    pub currency: String,
    /// YAML.
    pub body: String,
}

/// A sheet that is about to be in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSheet {
    pub name: String,
    pub currency: String,
    pub body: String,
    pub created_at: Timestamp,
    pub created_by: String,
}

/// The constraint that refuses two equal versions: two people wrote at once.
pub const VERSION_TAKEN: &str = "price_sheet_pkey";

/// Adds the next version of the sheet; the same text again stays the version that it is.
pub async fn insert(db: &mut PgConnection, sheet: &NewSheet) -> Result<i64> {
    let newest = sqlx::query("select name, version, body from price_sheet order by place desc limit 1")
        .fetch_optional(&mut *db)
        .await?;
    if let Some(row) = newest {
        let (name, body): (String, String) = (row.try_get("name")?, row.try_get("body")?);
        if name == sheet.name && body == sheet.body {
            return Ok(row.try_get("version")?);
        }
    }
    Ok(sqlx::query_scalar(
        "insert into price_sheet (name, version, currency, body, created_at, created_by)
         select $1, coalesce(max(version), 0) + 1, $2, $3, $4, $5 from price_sheet where name = $1
         returning version",
    )
    .bind(&sheet.name)
    .bind(&sheet.currency)
    .bind(&sheet.body)
    .bind(at(sheet.created_at))
    .bind(&sheet.created_by)
    .fetch_one(db)
    .await?)
}

/// The sheet in force.
pub async fn in_force(db: &mut PgConnection) -> Result<Option<SheetRow>> {
    let query = "select name, version, currency, body from price_sheet order by place desc limit 1";
    let row = sqlx::query(query).fetch_optional(db).await?;
    row.map(|row| {
        Ok(SheetRow {
            name: row.try_get("name")?,
            version: row.try_get("version")?,
            currency: row.try_get("currency")?,
            body: row.try_get("body")?,
        })
    })
    .transpose()
}

impl Store {
    /// The sheet in force.
    pub async fn price_sheet(&self) -> Result<Option<SheetRow>> {
        in_force(&mut *self.pool().acquire().await?).await
    }
}
