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

    /// Bytes that the owner keeps, uploads that go on not counted.
    pub async fn kept_by(&self, owner: &str) -> Result<u64> {
        let bytes: i64 =
            sqlx::query_scalar("select coalesce(sum(bytes), 0)::bigint from ray_package where owner = $1")
                .bind(owner)
                .fetch_one(self.pool())
                .await?;
        Ok(u64::try_from(bytes).unwrap_or(0))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{
        job::{self, NewJob},
        ray_submission::{self, ID_TAKEN, NewSubmission},
        testing::{
            self,
            fixture::{self, NOW},
        },
    };

    async fn package(store: &Store, owner: &str, name: &str) -> Uuid {
        let id = Uuid::now_v7();
        store.begin_package(id, owner, name, NOW).await.unwrap();
        store.add_chunk(id, 0, b"content").await.unwrap();
        store.complete_package(&Package { id, bytes: 7, sha256: [1; 32] }).await.unwrap();
        id
    }

    async fn submission(store: &Store, id: &str, packages: &[Uuid]) -> Result<NewJob> {
        store.ensure_queue(&"research".parse().unwrap(), NOW).await.unwrap();
        let new = fixture::new_job(id);
        let kept = NewSubmission {
            submission_id: id.to_owned(),
            entrypoint: "x".to_owned(),
            metadata: None,
            runtime_env: None,
            packages: packages.to_vec(),
        };
        store
            .txn("test", &(&new, kept), |db, (new, kept)| {
                Box::pin(async move {
                    job::insert(db, new).await?;
                    ray_submission::insert(db, new.id, kept, NOW).await
                })
            })
            .await?;
        Ok(new)
    }

    async fn chunks(store: &Store) -> i64 {
        sqlx::query_scalar("select count(*) from ray_package_chunk").fetch_one(store.pool()).await.unwrap()
    }

    #[tokio::test]
    async fn what_an_unfinished_job_names_outlives_the_sweep() {
        let store = testing::store().await;
        let (kept, lost) = (package(&store, "ann", "a.zip").await, package(&store, "ann", "b.zip").await);
        let broken = Uuid::now_v7();
        store.begin_package(broken, "ann", "c.zip", NOW).await.unwrap();
        store.add_chunk(broken, 0, b"half").await.unwrap();
        submission(&store, "s", &[kept]).await.unwrap();
        let late = NOW.plus_millis(1);
        let nothing = Unused { whole_before: NOW, broken_before: NOW };
        assert_eq!(store.drop_packages(nothing).await.unwrap(), 0, "used at this very moment");
        let all = Unused { whole_before: late, broken_before: late };
        assert_eq!(store.drop_packages(all).await.unwrap(), 2);
        assert!(
            store.chunk(kept, 0).await.unwrap().is_some() && store.chunk(lost, 0).await.unwrap().is_none()
        );
        fixture::execute(&store, "update job set state = 'succeeded' where $1 = 1", 1).await;
        assert_eq!((store.drop_packages(all).await.unwrap(), chunks(&store).await), (1, 0));
        assert!(store.submission("s").await.unwrap().is_some(), "the submission itself stays");
    }

    #[tokio::test]
    async fn a_package_is_seen_when_it_is_whole_and_by_its_owner() {
        let store = testing::store().await;
        let half = Uuid::now_v7();
        store.begin_package(half, "ann", "a.zip", NOW).await.unwrap();
        assert_eq!(store.package("ann", "a.zip", NOW).await.unwrap(), None);
        let id = package(&store, "ann", "a.zip").await;
        assert_eq!(store.package("ann", "a.zip", NOW).await.unwrap().map(|found| found.id), Some(id));
        assert_eq!(store.package("bob", "a.zip", NOW).await.unwrap(), None);
        assert_eq!((store.kept_by("ann").await.unwrap(), store.kept_by("bob").await.unwrap()), (7, 0));
        let late = store.complete_package(&Package { id: half, bytes: 0, sha256: [2; 32] }).await;
        assert!(late.unwrap_err().violates(NAME_TAKEN));
    }

    #[tokio::test]
    async fn an_id_is_taken_until_its_submission_is_deleted() {
        let store = testing::store().await;
        let first = submission(&store, "s", &[]).await.unwrap();
        assert!(submission(&store, "s", &[]).await.unwrap_err().violates(ID_TAKEN));
        assert_eq!(store.jobs(&job::Filter { limit: 9, ..job::Filter::default() }).await.unwrap().len(), 1);
        let deleted = async || {
            store
                .txn("test", &first.id, |db, job| Box::pin(ray_submission::delete(db, *job, NOW)))
                .await
                .unwrap()
        };
        assert!(deleted().await && !deleted().await);
        assert_eq!(store.submission("s").await.unwrap(), None);
        let second = submission(&store, "s", &[]).await.unwrap();
        let listed = store.submissions().await.unwrap();
        assert_eq!(listed.iter().map(|one| one.job).collect::<Vec<_>>(), [second.id]);
    }
}
