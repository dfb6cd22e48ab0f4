//! Declared policy: flavors, the tree of queues with quotas, priority classes.
//!
//! Invariant: a policy is read as it was at one moment, and is changed only by [`apply`] behind [`lock`], all of it or
//! nothing. A queue that has jobs stays: its jobs say who pays. Queues that were added without quotas are part of the
//! policy as roots that limit nothing.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    quota::{
        Change, Fate, Flavor, FlavorQuota, Noun, Policy, Preemption, PriorityClass, Queue, Quota, Reclaim,
        Resource, Within,
    },
    time::Timestamp,
};

use crate::{Result, StoreError, at};

/// Takes the policy for this transaction; answers its version. Others who want to change it wait.
pub async fn lock(db: &mut PgConnection) -> Result<i64> {
    Ok(sqlx::query_scalar("select version from policy for update").fetch_one(db).await?)
}

/// Everything that is declared. Call it in a transaction whose reads see one moment, or behind [`lock`].
pub async fn policy(db: &mut PgConnection) -> Result<Policy> {
    let flavors =
        sqlx::query("select name, node_labels, tolerations, weight_milli from flavor order by name")
            .fetch_all(&mut *db)
            .await?;
    let classes = sqlx::query("select name, value, description from priority_class order by name")
        .fetch_all(&mut *db)
        .await?;
    Ok(Policy {
        flavors: flavors.iter().map(flavor).collect::<Result<_>>()?,
        queues: queues(db).await?,
        priority_classes: classes.iter().map(class).collect::<Result<_>>()?,
    })
}

fn flavor(row: &PgRow) -> Result<Flavor> {
    Ok(Flavor {
        name: row.try_get("name")?,
        node_labels: row.try_get::<Json<_>, _>("node_labels")?.0,
        tolerations: row.try_get::<Json<_>, _>("tolerations")?.0,
        weight: weight("flavor", row)?,
    })
}

/// Of a flavor or a queue, in thousandths.
fn weight(table: &'static str, row: &PgRow) -> Result<u32> {
    let weight: i64 = row.try_get("weight_milli")?;
    u32::try_from(weight).map_err(|_| StoreError::corrupt(table, format!("{weight} is no weight")))
}

pub(crate) fn class(row: &PgRow) -> Result<PriorityClass> {
    Ok(PriorityClass {
        name: row.try_get("name")?,
        value: row.try_get("value")?,
        description: row.try_get("description")?,
    })
}

async fn queues(db: &mut PgConnection) -> Result<Vec<Queue>> {
    let mut quotas = quotas(db).await?;
    let rows = sqlx::query(
        "select name, parent, weight_milli, preempt_within, preempt_reclaim from queue order by name",
    )
    .fetch_all(&mut *db)
    .await?;
    rows.iter()
        .map(|row| {
            let name: String = row.try_get("name")?;
            Ok(Queue {
                parent: row.try_get("parent")?,
                weight: weight("queue", row)?,
                quotas: quotas.remove(&name).unwrap_or_default(),
                preemption: preemption(row)?,
                name,
            })
        })
        .collect()
}

fn preemption(row: &PgRow) -> Result<Option<Preemption>> {
    let words = (row.try_get("preempt_within")?, row.try_get("preempt_reclaim")?);
    let (Some(within), Some(reclaim)): (Option<&str>, Option<&str>) = words else { return Ok(None) };
    match (Within::from_word(within), Reclaim::from_word(reclaim)) {
        (Some(within), Some(reclaim)) => Ok(Some(Preemption { within, reclaim })),
        _ => Err(StoreError::corrupt("queue", format!("{within:?} and {reclaim:?} are no preemption"))),
    }
}

type Quotas = BTreeMap<String, BTreeMap<String, FlavorQuota>>;

async fn quotas(db: &mut PgConnection) -> Result<Quotas> {
    let query = "select queue, flavor, resource, nominal, borrowing_limit, lending_limit from queue_quota";
    let mut quotas = Quotas::new();
    for row in &sqlx::query(query).fetch_all(db).await? {
        let (flavor, resource) = (row.try_get("flavor")?, resource(row.try_get("resource")?)?);
        let quota = Quota {
            nominal: row.try_get("nominal")?,
            borrowing_limit: row.try_get("borrowing_limit")?,
            lending_limit: row.try_get("lending_limit")?,
        };
        let of_queue = quotas.entry(row.try_get("queue")?).or_default();
        of_queue.entry(flavor).or_default().insert(resource, quota);
    }
    Ok(quotas)
}

fn resource(word: &str) -> Result<Resource> {
    Resource::from_word(word)
        .ok_or_else(|| StoreError::corrupt("queue_quota", format!("{word:?} is no resource")))
}

/// Brings the tables to `target` by `changes`, which are the difference from what [`policy`] read in this transaction
/// behind [`lock`]. Answers the new version. Refused by [`JOBS_STAY`] when a removed queue got a job meanwhile.
pub async fn apply(
    db: &mut PgConnection,
    target: &Policy,
    changes: &[Change],
    now: Timestamp,
) -> Result<i64> {
    let kept = |noun| names(changes, noun, |fate| fate != Fate::Removed);
    let gone = |noun| names(changes, noun, |fate| fate == Fate::Removed);
    put_flavors(db, target, &kept(Noun::Flavor)).await?;
    put_classes(db, target, &kept(Noun::PriorityClass)).await?;
    put_queues(db, target, &kept(Noun::Queue), now).await?;
    remove_queues(db, &gone(Noun::Queue)).await?;
    remove(db, "delete from flavor where name = any ($1)", &gone(Noun::Flavor)).await?;
    remove(db, "delete from priority_class where name = any ($1)", &gone(Noun::PriorityClass)).await?;
    let next = "update policy set version = version + 1 returning version";
    Ok(sqlx::query_scalar(next).fetch_one(db).await?)
}

/// The constraint that refuses to remove a queue that has jobs.
pub const JOBS_STAY: &str = crate::job::NO_SUCH_QUEUE;

type Names<'a> = BTreeSet<&'a str>;

fn names(changes: &[Change], noun: Noun, wanted: impl Fn(Fate) -> bool) -> Names<'_> {
    let of_noun = changes.iter().filter(|change| change.noun == noun && wanted(change.fate));
    of_noun.map(|change| change.name.as_str()).collect()
}

async fn put_flavors(db: &mut PgConnection, target: &Policy, names: &Names<'_>) -> Result<()> {
    for flavor in target.flavors.iter().filter(|flavor| names.contains(flavor.name.as_str())) {
        sqlx::query(
            "insert into flavor (name, node_labels, tolerations, weight_milli) values ($1, $2, $3, $4)
             on conflict (name) do update set node_labels = excluded.node_labels, tolerations = excluded.tolerations,
                                              weight_milli = excluded.weight_milli",
        )
        .bind(&flavor.name)
        .bind(Json(&flavor.node_labels))
        .bind(Json(&flavor.tolerations))
        .bind(i64::from(flavor.weight))
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

async fn put_classes(db: &mut PgConnection, target: &Policy, names: &Names<'_>) -> Result<()> {
    for class in target.priority_classes.iter().filter(|class| names.contains(class.name.as_str())) {
        sqlx::query(
            "insert into priority_class (name, value, description) values ($1, $2, $3)
             on conflict (name) do update set value = excluded.value, description = excluded.description",
        )
        .bind(&class.name)
        .bind(class.value)
        .bind(&class.description)
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

/// Rows first, parents after all of them exist, then the quotas anew.
async fn put_queues(
    db: &mut PgConnection,
    target: &Policy,
    changed: &Names<'_>,
    now: Timestamp,
) -> Result<()> {
    let queues: Vec<&Queue> =
        target.queues.iter().filter(|queue| changed.contains(queue.name.as_str())).collect();
    let names: Vec<&str> = queues.iter().map(|queue| queue.name.as_str()).collect();
    let parents: Vec<Option<&str>> = queues.iter().map(|queue| queue.parent.as_deref()).collect();
    let weights: Vec<i64> = queues.iter().map(|queue| i64::from(queue.weight)).collect();
    sqlx::query(
        "insert into queue (name, created_at, weight_milli)
         select name, $3, weight from unnest($1::text[], $2::bigint[]) as new (name, weight)
         on conflict (name) do update set weight_milli = excluded.weight_milli",
    )
    .bind(&names)
    .bind(&weights)
    .bind(at(now))
    .execute(&mut *db)
    .await?;
    sqlx::query(
        "update queue set parent = new.parent, preempt_within = new.within, preempt_reclaim = new.reclaim
         from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as new (name, parent, within, reclaim)
         where queue.name = new.name",
    )
    .bind(&names)
    .bind(&parents)
    .bind(queues.iter().map(|queue| Some(queue.preemption?.within.word())).collect::<Vec<_>>())
    .bind(queues.iter().map(|queue| Some(queue.preemption?.reclaim.word())).collect::<Vec<_>>())
    .execute(&mut *db)
    .await?;
    put_quotas(db, &queues, &names).await
}

async fn put_quotas(db: &mut PgConnection, queues: &[&Queue], names: &[&str]) -> Result<()> {
    sqlx::query("delete from queue_quota where queue = any ($1)").bind(names).execute(&mut *db).await?;
    let mut rows = QuotaRows::default();
    for queue in queues {
        for (flavor, amounts) in &queue.quotas {
            for (resource, quota) in amounts {
                rows.push(&queue.name, flavor, *resource, *quota);
            }
        }
    }
    sqlx::query(
        "insert into queue_quota (queue, flavor, resource, nominal, borrowing_limit, lending_limit)
         select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])",
    )
    .bind(&rows.queues)
    .bind(&rows.flavors)
    .bind(&rows.resources)
    .bind(&rows.nominal)
    .bind(&rows.borrowing)
    .bind(&rows.lending)
    .execute(db)
    .await?;
    Ok(())
}

/// Quotas by column, for one statement.
#[derive(Default)]
struct QuotaRows<'a> {
    queues: Vec<&'a str>,
    flavors: Vec<&'a str>,
    resources: Vec<&'static str>,
    nominal: Vec<i64>,
    borrowing: Vec<Option<i64>>,
    lending: Vec<Option<i64>>,
}

impl<'a> QuotaRows<'a> {
    fn push(&mut self, queue: &'a str, flavor: &'a str, resource: Resource, quota: Quota) {
        self.queues.push(queue);
        self.flavors.push(flavor);
        self.resources.push(resource.word());
        self.nominal.push(quota.nominal);
        self.borrowing.push(quota.borrowing_limit);
        self.lending.push(quota.lending_limit);
    }
}

/// Removed queues may be parents of each other.
async fn remove_queues(db: &mut PgConnection, names: &Names<'_>) -> Result<()> {
    remove(db, "update queue set parent = null where name = any ($1)", names).await?;
    remove(db, "delete from queue where name = any ($1)", names).await
}

async fn remove(db: &mut PgConnection, statement: &'static str, names: &Names<'_>) -> Result<()> {
    if !names.is_empty() {
        let names: Vec<&str> = names.iter().copied().collect();
        sqlx::query(statement).bind(names).execute(db).await?;
    }
    Ok(())
}

/// How many jobs each of these queues has: all of them, and those that have not ended. Queues without jobs are left out.
pub async fn jobs_in(db: &mut PgConnection, queues: &[String]) -> Result<BTreeMap<String, JobCount>> {
    let rows = sqlx::query(
        "select queue, count(*) as all,
                count(*) filter (where state not in ('succeeded', 'failed', 'cancelled')) as unfinished
         from job where queue = any ($1) group by queue",
    )
    .bind(queues)
    .fetch_all(db)
    .await?;
    rows.iter()
        .map(|row| {
            let count = JobCount { all: row.try_get("all")?, unfinished: row.try_get("unfinished")? };
            Ok((row.try_get("queue")?, count))
        })
        .collect()
}

/// Jobs of one queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobCount {
    pub all: i64,
    pub unfinished: i64,
}
