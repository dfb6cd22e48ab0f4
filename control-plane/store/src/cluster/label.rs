//! Labels of clusters: what operators say about where a cluster is and what is near it.

use std::collections::BTreeMap;

use sqlx::types::Json;
use squadron_core::{id::ClusterId, placement::Labels};

use super::{Cluster, lock};
use crate::{Result, Store, audit};

/// Labels that one cluster may have.
pub const MOST_LABELS: usize = 64;

/// What became of a change of labels.
#[derive(Clone, Debug)]
pub enum Labelled {
    Done(Box<Cluster>),
    /// It would have so many.
    TooMany(usize),
    Missing,
}

impl Store {
    /// Sets these labels, and removes those without a value; others stay.
    pub async fn label_cluster(
        &self,
        id: ClusterId,
        changes: &BTreeMap<String, Option<String>>,
        entry: &audit::Entry,
    ) -> Result<Labelled> {
        self.txn("cluster.label", &(id, changes, entry), |db, (id, changes, entry)| {
            Box::pin(async move {
                let Some(mut row) = lock(db, *id).await? else { return Ok(Labelled::Missing) };
                change(&mut row.labels, changes);
                if row.labels.len() > MOST_LABELS {
                    return Ok(Labelled::TooMany(row.labels.len()));
                }
                sqlx::query("update cluster set labels = $2, version = version + 1 where id = $1")
                    .bind(id.0)
                    .bind(Json(&row.labels))
                    .execute(&mut *db)
                    .await?;
                audit::insert(db, entry).await?;
                Ok(lock(db, *id).await?.map_or(Labelled::Missing, |row| Labelled::Done(Box::new(row))))
            })
        })
        .await
    }
}

fn change(labels: &mut Labels, changes: &BTreeMap<String, Option<String>>) {
    for (key, value) in changes {
        match value {
            Some(value) => labels.insert(key.clone(), value.clone()),
            None => labels.remove(key),
        };
    }
}
