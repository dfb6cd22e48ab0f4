//! Migrations of a database that an older version filled.

#![allow(clippy::unwrap_used)]

use squadron_core::silence::Judge;

use crate::{
    job::{class, waiting},
    testing::{
        self,
        fixture::{self, NOW},
    },
};

/// A queue of two waiting jobs and one that ran, as the version before classes wrote them; room is being made for the second.
const FILLED: [&str; 6] = [
    "insert into queue (name, created_at) select 'research', now() where $1 > 0",
    "insert into cluster (id, name, state, created_at)
     select '00000000-0000-0000-0000-00000000000c', 'east', 'active', now() where $1 > 0",
    "insert into job (id, name, namespace, queue, state, reason, sentence, owner, manifest, rayjob, gang, submitted_at,
                      blockers, queue_position, queue_length, decided_at, priority)
     select ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'j' || n, 'default', 'research',
            case n when 3 then 'succeeded' else 'queued' end, 'CLUSTER_FULL', 'queued in research, 1st of 2: east is full',
            'ann', '', '{}', '[{\"role\":\"head\",\"count\":1,\"cpu_milli\":1000,\"memory_bytes\":1,\"gpus\":0}]',
            to_timestamp(1790000000 + n),
            '[{\"code\":\"CLUSTER_FULL\",\"cluster\":\"east\",\"sentence\":\"east is full\",\"try_this\":\"\"}]',
            n, 2, now(), n
     from generate_series(1, 3) n where $1 > 0",
    "insert into decision (job_id, number, outcome, cause, sentence, queue_position, term, first_at, last_at)
     select id, 1, 'blocked', 'CLUSTER_FULL east', sentence, queue_position, 1, now(), now() from job where $1 > 0",
    "insert into claim (job_id, cluster_id, after_attempt, made_at)
     select id, '00000000-0000-0000-0000-00000000000c', 0, now() from job where name = 'j2' and $1 > 0",
    "insert into estimate (job_id, position, queue, size_class, at)
     select id, queue_position, 'research', 0, now() from job where $1 > 0",
];

#[tokio::test]
async fn jobs_that_waited_before_there_were_classes_wait_on() {
    let store = testing::empty().await;
    store.migrate_to(18).await.unwrap();
    for statement in FILLED {
        fixture::execute(&store, statement, 1).await;
    }
    store.migrate().await.unwrap();
    let row = store.job("j1").await.unwrap().unwrap();
    assert_eq!((row.reason.as_str(), row.decided_at), ("CLUSTER_FULL", None), "as it was told last");
    let line = async || {
        let line = store.line("research", None, 10, NOW).await.unwrap();
        line.into_iter().map(|job| job.name).collect::<Vec<_>>()
    };
    assert_eq!(line().await, ["j2", "j1"], "before anybody gave them classes");
    let mut db = store.pool().acquire().await.unwrap();
    assert_eq!((class::give(&mut db).await.unwrap(), class::give(&mut db).await.unwrap()), (2, 0));
    drop(db);
    let silence = Judge { now: NOW, after_ms: 60_000 };
    let look =
        store.txn("test", &silence, |db, silence| Box::pin(waiting::snapshot(db, *silence))).await.unwrap();
    assert_eq!((look.input.waiting.len(), look.classes.len(), look.input.claims.len()), (2, 2, 1));
    assert_eq!(line().await, ["j2", "j1"]);
    let history = store.decisions(row.id, None, 10).await.unwrap();
    assert_eq!((history.len(), history[0].position), (1, Some(1)), "{history:?}");
}
