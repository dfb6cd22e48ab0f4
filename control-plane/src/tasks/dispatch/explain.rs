//! Explanations on their way into the database: what each class of waiting jobs waits for, and what single jobs hear.
//!
//! Invariant: of a class is told what one of its jobs hears that hears nothing of its own; all of a pass is written in one
//! transaction. Browsers are told about the jobs that were looked at; the others hear it when they are asked about.

use std::collections::BTreeMap;

use squadron_core::{
    dispatch::{Blocked, Waiting},
    id::JobId,
};
use squadron_store::{
    Result,
    decision::By,
    job::{
        class::{self, ClassId},
        heads::{self, Turn},
        own_wait::{self, Own},
        verdict::{self, Verdict},
    },
    term::{self, Term},
};

use crate::{clock, state::AppState};

/// Writes why jobs wait, and tells browsers about those that hear something new.
pub(super) async fn explain(
    app: &AppState,
    term: &Term,
    (waiting, blocked): (&[Waiting], &[Blocked]),
    classes: &BTreeMap<JobId, ClassId>,
    turns: &[Turn],
) -> Result<()> {
    let (verdicts, own) = sorted(waiting, blocked, classes);
    let sizes = waiting.iter().filter_map(|job| Some((*classes.get(&job.job)?, job.size())));
    let sizes: BTreeMap<ClassId, f64> = sizes.collect();
    let (news, alone) = app
        .store
        .txn(
            "dispatch.explain",
            &(term, sizes, verdicts, own, turns),
            |db, (term, sizes, verdicts, own, turns)| {
                Box::pin(async move {
                    term::check(db, term).await?;
                    let by = By { term: term.number, now: clock::now() };
                    heads::turned(db, turns).await?;
                    class::note_sizes(db, sizes).await?;
                    let alone = own_wait::save(db, own, by).await?;
                    Ok((verdict::save(db, verdicts, by).await?, alone))
                })
            },
        )
        .await?;
    let hears =
        |job: &JobId| alone.contains(job) || classes.get(job).is_some_and(|class| news.contains(class));
    for one in blocked.iter().filter(|one| hears(&one.job)) {
        app.wake.changed("job", one.job, 0);
    }
    Ok(())
}

/// What each class is told, and which jobs hear something of their own. `blocked` is sorted by queue and place.
fn sorted<'a>(
    waiting: &'a [Waiting],
    blocked: &'a [Blocked],
    classes: &BTreeMap<JobId, ClassId>,
) -> (Vec<Verdict<'a>>, Vec<Own<'a>>) {
    let queues: BTreeMap<JobId, &str> = waiting.iter().map(|job| (job.job, job.queue.as_str())).collect();
    let (mut verdicts, mut own) = (BTreeMap::<ClassId, Verdict<'a>>::new(), Vec::new());
    for told in blocked {
        let (Some(queue), Some(class)) = (queues.get(&told.job), classes.get(&told.job)) else { continue };
        let known = verdicts.entry(*class);
        let known = known.or_insert(Verdict { class: *class, queue, borrows: told.borrows, told: None });
        if told.is_its_own() {
            own.push(Own { queue, told });
        }
        // One for which room is kept hears what the others hear, and a note.
        if known.told.is_none() && !told.is_alone() {
            (known.borrows, known.told) = (told.borrows, Some(told));
        }
    }
    (verdicts.into_values().collect(), own)
}
