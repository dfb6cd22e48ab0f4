//! Close: attempts of which nothing runs any more are given up, many in one transaction and in a fixed number of statements.
//!
//! Invariant: a transaction holds the locks of the jobs, of the cluster's newest renewal and of the attempts, in this order,
//! and closes nothing if the cluster was heard after the judgement or the word. An attempt that changed meanwhile is left
//! out, and the others go on. Repaired by the next pass, or by the same word said again.

use std::collections::BTreeMap;

use squadron_core::{
    attempt::{Event, Step, advance as decide},
    id::{AttemptId, ClusterId, JobId},
    lease::{Proof, ProofKind, Renewal, Word},
};
use squadron_store::{
    PgConnection, Result, attempt,
    job::advance,
    loss::{self, LastWord, PAGE},
    term::{self, Term},
};

use crate::{clock, state::AppState, wake::Topic};

/// What must still be true when attempts are closed.
#[derive(Clone, Copy)]
pub enum Provided<'a> {
    /// The leader has its term, and this is the cluster's newest renewal.
    Silent { term: &'a Term, renewal: Renewal },
    /// The cluster was not heard since an operator spoke.
    Unheard(LastWord),
}

/// The cluster was heard; nothing was closed in that transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeardAgain {
    /// Attempts that were closed before.
    pub closed: usize,
}

/// Closes attempts on a cluster with their proofs. Answers how many; none if the cluster was heard.
pub async fn close(
    app: &AppState,
    cluster: ClusterId,
    provided: Provided<'_>,
    proofs: &[Proof],
) -> Result<Option<usize>> {
    let input = (cluster, provided, proofs);
    let closed = app
        .store
        .txn("lost.close", &input, |db, (cluster, provided, proofs)| {
            Box::pin(close_all(db, *cluster, *provided, proofs))
        })
        .await?;
    let Some(versions) = closed else { return Ok(None) };
    for proof in proofs {
        if let Some(version) = versions.get(&proof.attempt().job) {
            let (attempt, kind) = (proof.attempt(), proof.kind());
            tracing::warn!(%attempt, proof = kind.word(), because = proof.because(), "an attempt was given up");
            app.wake.changed("job", attempt.job, *version);
        }
    }
    if !versions.is_empty() {
        app.wake.notify(Topic::Desired);
        app.wake.notify(Topic::Dispatch);
    }
    Ok(Some(versions.len()))
}

/// Closes everything on a cluster with an operator's word, in pages, until nothing is left. Stops when it is heard.
pub async fn close_on_a_word(
    app: &AppState,
    cluster: ClusterId,
    before: LastWord,
    word: &Word,
) -> Result<Result<usize, HeardAgain>> {
    let mut closed = 0;
    loop {
        let (mut after, before_this) = (None, closed);
        loop {
            let held = app.store.held_on(cluster, after).await?;
            let proof = |held: &loss::Held| Proof::operators_word(held.live.id, word);
            let proofs: Vec<Proof> = held.iter().map(proof).collect();
            match close(app, cluster, Provided::Unheard(before), &proofs).await? {
                Some(more) => closed += more,
                None => return Ok(Err(HeardAgain { closed })),
            }
            after = held.last().map(|held| held.live.id.job);
            if held.len() < PAGE {
                break;
            }
        }
        // What was given to it meanwhile is closed as well.
        if closed == before_this {
            return Ok(Ok(closed));
        }
    }
}

async fn close_all(
    db: &mut PgConnection,
    cluster: ClusterId,
    provided: Provided<'_>,
    proofs: &[Proof],
) -> Result<Option<BTreeMap<JobId, i64>>> {
    if let Provided::Silent { term, .. } = provided {
        term::check(db, term).await?;
    }
    let attempts: Vec<AttemptId> = proofs.iter().map(Proof::attempt).collect();
    let jobs = advance::lock_all(db, &attempts.iter().map(|attempt| attempt.job).collect::<Vec<_>>()).await?;
    let last = loss::lock_last_word(db, cluster).await?;
    let unheard = match provided {
        Provided::Silent { renewal, .. } => last.renewal == renewal,
        Provided::Unheard(before) => last == before,
    };
    if !unheard {
        return Ok(None);
    }
    let unaccepted = loss::lock_unaccepted(db, &attempts).await?;
    let now = clock::now();
    let (mut steps, mut noted): (Vec<Step>, Vec<(AttemptId, ProofKind)>) = Default::default();
    for proof in proofs {
        let attempt = proof.attempt();
        let there = |job: &&squadron_core::attempt::Job| {
            let newest = job.attempt.as_ref();
            newest.is_some_and(|newest| newest.cluster == cluster && newest.number == attempt.number)
        };
        let Some(job) = jobs.get(&attempt.job).filter(there) else { continue };
        if proof.kind() == ProofKind::NeverAccepted && !unaccepted.contains(&attempt) {
            continue;
        }
        match decide(job, Event::NothingRuns { proof }, now) {
            Ok(step) => {
                steps.push(step);
                noted.push((attempt, proof.kind()));
            }
            Err(refused) => tracing::debug!(%attempt, %refused, "the job changed after it was judged"),
        }
    }
    if steps.is_empty() {
        return Ok(Some(BTreeMap::new()));
    }
    let versions = advance::save_all(db, &steps).await?;
    loss::note_proofs(db, &noted, now).await?;
    attempt::note_ends(db, &noted.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(), now).await?;
    Ok(Some(versions))
}
