//! Apply: what facts make of nodes, pods and jobs, many in a fixed number of statements.
//!
//! Invariant: each fact is judged by what those before it left, as if it came alone. All jobs that the facts can change are
//! locked first, in the order of their ids, so that whoever does likewise never waits in a circle. A batch that fails is
//! written nowhere, and the caller takes it apart.

use std::collections::BTreeSet;

use squadron_core::{
    fact::{Fact, InventoryFact, ListedKind},
    id::{ClusterId, JobId},
};
use squadron_store::{
    PgConnection, Result, arrival as arrivals,
    attempt::{self, Named},
    cursor::{Batch, FactRow},
    job::advance,
    node, pod,
};

use super::{
    News,
    holdings::{self, Asked},
    scene::Scene,
};
use crate::tasks::arrival;

/// A fact that this version can read, and who told it.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) cluster: ClusterId,
    pub(super) fact: &'a Fact,
    pub(super) row: &'a FactRow,
}

/// Every fact of these batches takes effect, those of a cluster in their order.
pub(super) async fn apply<'a>(
    db: &mut PgConnection,
    batches: impl Iterator<Item = &'a Batch>,
    news: &mut News,
) -> Result<()> {
    let asked = holdings::asked(db, batches.flat_map(told).collect()).await?;
    let facts = &asked.facts;
    let named: BTreeSet<Named> =
        facts.iter().filter_map(|told| Some((told.cluster, told.fact.attempt()?))).collect();
    let mut held = attempt::held(db, &named).await?;
    lock(db, &asked, &held).await?;
    for stretch in facts.chunk_by(|one, next| !acts_alone(one.fact) && !acts_alone(next.fact)) {
        match stretch {
            [one] if acts_alone(one.fact) => {
                apply_alone(db, *one, &asked, news).await?;
                if matches!(one.fact, Fact::Holdings(_)) {
                    held = attempt::held(db, &named).await?;
                }
            }
            many => Scene::read(db, many, &held).await?.play(db, many, news).await?,
        }
    }
    Ok(())
}

fn told(batch: &Batch) -> impl Iterator<Item = Told<'_>> {
    let read = batch.facts.iter().filter_map(|row| Some((row, row.fact.as_ref()?)));
    read.map(|(row, fact)| Told { cluster: batch.cluster, fact, row })
}

async fn lock(db: &mut PgConnection, asked: &Asked<'_>, held: &BTreeSet<Named>) -> Result<()> {
    let mut jobs: BTreeSet<JobId> = held.iter().map(|(_, attempt)| attempt.job).collect();
    jobs.extend(asked.jobs());
    let gone = asked.facts.iter().filter_map(|told| match told.fact {
        Fact::Arrival(fact) if fact.gone => Some((told.cluster, fact.uid.as_str())),
        _ => None,
    });
    jobs.extend(arrivals::jobs(db, &gone.collect::<Vec<_>>()).await?);
    advance::hold_all(db, &jobs.into_iter().collect::<Vec<_>>()).await
}

/// Whether the fact has statements of its own: it speaks of all nodes and pods, or of an object with its own rules.
fn acts_alone(fact: &Fact) -> bool {
    matches!(fact, Fact::Inventory(_) | Fact::Listed(_) | Fact::Arrival(_) | Fact::Holdings(_))
}

async fn apply_alone(
    db: &mut PgConnection,
    told: Told<'_>,
    asked: &Asked<'_>,
    news: &mut News,
) -> Result<()> {
    let Told { cluster, fact, row } = told;
    match fact {
        Fact::Inventory(fact) => apply_inventory(db, cluster, fact, row, news).await,
        Fact::Listed(fact) => {
            let within = (fact.from.as_str(), fact.until.as_str());
            let ended = match fact.of {
                ListedKind::Pod => {
                    pod::keep_only(db, cluster, within, &fact.uids, row.position, row.at).await?
                }
                ListedKind::Node => {
                    node::keep_only(db, cluster, within, &fact.uids, row.position, row.at).await?
                }
            };
            news.room |= ended > 0;
            Ok(())
        }
        Fact::Arrival(fact) => arrival::apply(db, cluster, fact, row.at, news).await,
        Fact::Holdings(fact) => holdings::apply(db, (cluster, fact), asked, row.at, news).await,
        _ => Ok(()),
    }
}

/// Every uid.
const ALL: (&str, &str) = ("", "");

async fn apply_inventory(
    db: &mut PgConnection,
    cluster: ClusterId,
    fact: &InventoryFact,
    row: &FactRow,
    news: &mut News,
) -> Result<()> {
    let nodes = node::keep_only(db, cluster, ALL, &fact.node_uids, row.position, row.at).await?;
    let pods = pod::keep_only(db, cluster, ALL, &fact.pod_uids, row.position, row.at).await?;
    news.room |= nodes + pods > 0;
    Ok(())
}
