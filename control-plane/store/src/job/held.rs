//! Held: attempts that hold room in clusters, or that are over and have not left it yet.
//!
//! Invariant: what an attempt's pods ask for is read once for each class of jobs, because thousands of attempts ask for the
//! same; a job whose class is not there brings its own. Fails as a whole when the database does.

use std::collections::BTreeMap;

use sqlx::{PgConnection, Row, postgres::PgRow, types::Json};
use squadron_core::{
    dispatch::{
        Bound, Cluster, GangPart, Held, Stake, Usage,
        soft::{Capped, Caps},
    },
    id::{AttemptId, ClusterId, JobId},
};

use super::{class::ClassId, waiting::Clusters};
use crate::{Result, StoreError, attempt::attempt_id, stamp, stamp_opt};

macro_rules! holders {
    ($rest:literal) => {
        concat!(
            "select a.cluster_id, a.job_id, a.number as attempt, nullif(a.bound, '{}') as bound, nullif(a.caps, '{}') as caps, a.capped_at, a.capped_for, c.id as class_id, case when c.id is null then j.gang end as gang,
                    j.queue, a.usage, a.assigned_at, coalesce(a.end_learnt_at, a.ended_at) as ended,
                    coalesce(j.preferences->>'spread', '') as spread
             from attempt a join job j on j.id = a.job_id left join job_class c on c.id = j.class_id where ",
            $rest
        )
    };
}

type Gangs = BTreeMap<ClassId, Vec<GangPart>>;

/// Adds to the clusters what attempts hold of them. Of a lost one nothing runs, but for one that may run on beside the next
/// because its owner allowed that. Call it in a transaction that sees one moment.
pub(super) async fn add(db: &mut PgConnection, clusters: &mut Clusters) -> Result<()> {
    let live = sqlx::query(holders!("a.ended_at is null")).fetch_all(&mut *db).await?;
    let leaving = sqlx::query(holders!(
        "a.ended_at is not null and (a.state <> 'lost' or a.proof = 'overlap_allowed')
         and (a.cluster_id, a.job_id, a.number) in (
             select cluster_id, job_id, attempt from pod
             where job_id is not null and not gone and finished_at is null and phase not in ('Succeeded', 'Failed'))"
    ))
    .fetch_all(&mut *db)
    .await?;
    let gangs = gangs(db, live.iter().chain(&leaving)).await?;
    hold(&live, &gangs, clusters, |cluster, held| cluster.attempts.push(held))?;
    hold(&leaving, &gangs, clusters, |cluster, held| cluster.leaving.push(held))
}

/// What the jobs of each class ask for.
async fn gangs<'a>(db: &mut PgConnection, rows: impl Iterator<Item = &'a PgRow>) -> Result<Gangs> {
    let mut ids = rows.map(|row| Ok(row.try_get("class_id")?)).collect::<Result<Vec<Option<ClassId>>>>()?;
    ids.sort_unstable();
    ids.dedup();
    let classes = sqlx::query("select id, shape->'gang' as gang from job_class where id = any ($1)")
        .bind(ids.into_iter().flatten().collect::<Vec<_>>())
        .fetch_all(db)
        .await?;
    classes.iter().map(|row| Ok((row.try_get("id")?, row.try_get::<Json<_>, _>("gang")?.0))).collect()
}

fn hold(rows: &[PgRow], gangs: &Gangs, clusters: &mut Clusters, keep: fn(&mut Cluster, Held)) -> Result<()> {
    for row in rows {
        let id: Option<AttemptId> = attempt_id(row)?;
        let cluster = clusters.get_mut(&ClusterId(row.try_get("cluster_id")?));
        if let (Some(id), Some(cluster)) = (id, cluster) {
            let usage = row.try_get::<Json<Usage>, _>("usage")?.0;
            let (queue, assigned_at) = (row.try_get("queue")?, stamp(row.try_get("assigned_at")?));
            let (gang, spread) = (gang(row, gangs)?, row.try_get("spread")?);
            let stake = Stake { ended: stamp_opt(row.try_get("ended")?), ..Stake::default() };
            let capped = capped(row)?;
            keep(cluster, Held { id, gang, queue, usage, spread, assigned_at, stake, capped });
        }
    }
    Ok(())
}

fn capped(row: &PgRow) -> Result<Option<Capped>> {
    let caps = row.try_get::<Option<Json<Caps>>, _>("caps")?;
    let since = stamp_opt(row.try_get("capped_at")?);
    let makes_room_for = row.try_get::<Option<_>, _>("capped_for")?.map(JobId);
    Ok(caps.zip(since).map(|(caps, since)| Capped { caps: caps.0, since, makes_room_for }))
}

/// What the attempt's pods ask for, and which nodes will do with what they are bound to.
fn gang(row: &PgRow, gangs: &Gangs) -> Result<Vec<GangPart>> {
    let own = row.try_get::<Option<Json<Vec<GangPart>>>, _>("gang")?;
    let of_class =
        row.try_get::<Option<ClassId>, _>("class_id")?.and_then(|class| gangs.get(&class)).cloned();
    let known = own.map(|gang| gang.0).or(of_class);
    let unknown =
        || StoreError::corrupt("job_class", "it is missing, so what its jobs hold is not known".to_owned());
    let mut gang = known.ok_or_else(unknown)?;
    if let Some(Json(bound)) = row.try_get::<Option<Json<Bound>>, _>("bound")? {
        for part in &mut gang {
            bound.get(&part.role).into_iter().for_each(|nodes| part.wish.bind(nodes));
        }
    }
    Ok(gang)
}
