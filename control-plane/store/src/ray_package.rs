//! Packages: files that Ray's client uploads, in chunks, by owner and name.
//!
//! Invariants: a package is seen only when all of it is there and its digest is written; its content never changes;
//! nobody finds a package of somebody else, because its name proves nothing about its content. An upload that broke
//! leaves rows that [`Store::drop_packages`] removes.

use sqlx::Row;
use squadron_core::{
    id::{AttemptId, ClusterId},
    time::Timestamp,
};
use uuid::Uuid;

use crate::{Result, Store, StoreError, at};

/// Packages that one sweep removes; each may be half a GiB.
const SWEPT: i64 = 2;

/// The index that refuses a second package of a name.
pub const NAME_TAKEN: &str = "ray_package_named";

/// A whole package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Package {
    pub id: Uuid,
    pub bytes: u64,
    pub sha256: [u8; 32],
}

/// What [`Store::drop_packages`] may remove.
#[derive(Clone, Copy, Debug)]
pub struct Unused {
    /// Whole packages that no unfinished job names and that were last used before this.
    pub whole_before: Timestamp,
    /// Uploads that began before this and were never completed.
    pub broken_before: Timestamp,
}

impl Store {
    /// The owner's package of this name; it counts as used at `now`.
    pub async fn package(&self, owner: &str, name: &str, now: Timestamp) -> Result<Option<Package>> {
        let row = sqlx::query(
            "update ray_package set used_at = greatest(used_at, $3)
             where owner = $1 and name = $2 and sha256 is not null returning id, bytes, sha256",
        )
        .bind(owner)
        .bind(name)
        .bind(at(now))
        .fetch_optional(self.pool())
        .await?;
        row.as_ref().map(read).transpose()
    }

    /// The package that this attempt brings along, if the cluster should hold the attempt.
    pub async fn package_for(
        &self,
        cluster: ClusterId,
        attempt: AttemptId,
        name: &str,
    ) -> Result<Option<Package>> {
        let row = sqlx::query(
            "select p.id, p.bytes, p.sha256
             from attempt a
             join ray_submission_package sp on sp.job_id = a.job_id
             join ray_package p on p.id = sp.package_id
             where a.job_id = $1 and a.number = $2 and a.cluster_id = $3 and a.desired and p.name = $4
               and p.sha256 is not null",
        )
        .bind(attempt.job.0)
        .bind(i32::try_from(attempt.number).unwrap_or(i32::MAX))
        .bind(cluster.0)
        .bind(name)
        .fetch_optional(self.pool())
        .await?;
        row.as_ref().map(read).transpose()
    }

    /// Begins an upload.
    pub async fn begin_package(&self, id: Uuid, owner: &str, name: &str, now: Timestamp) -> Result<()> {
        sqlx::query(
            "insert into ray_package (id, owner, name, created_at, used_at) values ($1, $2, $3, $4, $4)",
        )
        .bind(id)
        .bind(owner)
        .bind(name)
        .bind(at(now))
        .execute(self.pool())
        .await?;
        Ok(())
    }

    /// Writes one chunk of an upload.
    pub async fn add_chunk(&self, id: Uuid, number: i32, data: &[u8]) -> Result<()> {
        sqlx::query("insert into ray_package_chunk (package_id, number, data) values ($1, $2, $3)")
            .bind(id)
            .bind(number)
            .bind(data)
            .execute(self.pool())
            .await?;
        Ok(())
    }

    /// Ends an upload: the package can be seen from now on. Refused by [`NAME_TAKEN`] when another was quicker.
    pub async fn complete_package(&self, package: &Package) -> Result<()> {
        sqlx::query("update ray_package set bytes = $2, sha256 = $3 where id = $1")
            .bind(package.id)
            .bind(i64::try_from(package.bytes).unwrap_or(i64::MAX))
            .bind(package.sha256.as_slice())
            .execute(self.pool())
            .await?;
        Ok(())
    }

    /// Removes an upload that is not wanted any more.
    pub async fn drop_package(&self, id: Uuid) -> Result<()> {
        sqlx::query("delete from ray_package where id = $1").bind(id).execute(self.pool()).await?;
        Ok(())
    }

    /// A chunk of a package; `None` behind its end.
    pub async fn chunk(&self, package: Uuid, number: i32) -> Result<Option<Vec<u8>>> {
        Ok(sqlx::query_scalar("select data from ray_package_chunk where package_id = $1 and number = $2")
            .bind(package)
            .bind(number)
            .fetch_optional(self.pool())
            .await?)
    }

    /// Removes some packages that nobody needs, the longest unused first; answers how many.
    pub async fn drop_packages(&self, unused: Unused) -> Result<u64> {
        let done = sqlx::query(
            "delete from ray_package where id in (
                 select p.id from ray_package p
                 where p.used_at < $1 and p.sha256 is not null
                   and not exists (
                       select 1 from ray_submission_package sp join job j on j.id = sp.job_id
                       where sp.package_id = p.id and j.state not in ('succeeded', 'failed', 'cancelled'))
                 order by p.used_at, p.id limit $2)",
        )
        .bind(at(unused.whole_before))
        .bind(SWEPT)
        .execute(self.pool())
        .await?;
        let broken = sqlx::query(
            "delete from ray_package where id in (
                 select id from ray_package where sha256 is null and used_at < $1 order by used_at, id limit $2)",
        )
        .bind(at(unused.broken_before))
        .bind(SWEPT)
        .execute(self.pool())
        .await?;
        Ok(done.rows_affected() + broken.rows_affected())
    }
}

fn read(row: &sqlx::postgres::PgRow) -> Result<Package> {
    let digest: Vec<u8> = row.try_get("sha256")?;
    let sha256 =
        digest.try_into().map_err(|_| StoreError::corrupt("ray_package", "a digest is not 32 bytes long"))?;
    let bytes = u64::try_from(row.try_get::<i64, _>("bytes")?).unwrap_or(0);
    Ok(Package { id: row.try_get("id")?, bytes, sha256 })
}
