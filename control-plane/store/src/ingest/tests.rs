//! Exactly once, on a real Postgres.
#![allow(clippy::unwrap_used)]

use squadron_core::fact::KernelFact;
use squadron_core::{fact::KernelSignal, id::AttemptId};
use uuid::Uuid;

use super::*;
use crate::testing;

const NOW: Timestamp = Timestamp(1_790_000_000_000_000);

async fn cluster(store: &Store, name: &str, epoch: i64) -> ClusterId {
    let id = Uuid::now_v7();
    sqlx::query(
        "insert into cluster (id, name, state, created_at, agent_epoch) values ($1, $2, 'active', now(), $3)",
    )
    .bind(id)
    .bind(name)
    .bind(epoch)
    .execute(store.pool())
    .await
    .unwrap();
    ClusterId(id)
}

async fn attempt(store: &Store, cluster: ClusterId) -> AttemptId {
    let job = Uuid::now_v7();
    sqlx::query("insert into queue (name, created_at) values ('q', now()) on conflict do nothing")
        .execute(store.pool())
        .await
        .unwrap();
    sqlx::query(
        "insert into job (id, name, namespace, queue, state, owner, manifest, gang, submitted_at)
         values ($1, 'j', 'default', 'q', 'running', 'ann', '', '[]', now())",
    )
    .bind(job)
    .execute(store.pool())
    .await
    .unwrap();
    sqlx::query(
        "insert into attempt (job_id, number, cluster_id, state, object_name, chosen_because, assigned_at)
         values ($1, 1, $2, 'running', 'o', 'it fits', now())",
    )
    .bind(job)
    .bind(cluster.0)
    .execute(store.pool())
    .await
    .unwrap();
    AttemptId { job: JobId(job), number: 1 }
}

fn fact(line: &str) -> Record {
    let signal = KernelSignal::OomKill { pod_uid: "p".into(), process: "python".into(), pid: 7 };
    let fact = Fact::Kernel(KernelFact { node: "n".into(), line: line.into(), signal });
    Record { observed_at: NOW, payload: Payload::Fact(Box::new(fact)) }
}

fn facts(cluster: ClusterId, epoch: u64, first: u64, last: u64) -> Batch {
    Batch {
        cluster,
        stream_epoch: Epoch(3),
        epoch: Epoch(epoch),
        class: Class::Fact,
        first,
        records: (first..=last).map(|seq| fact(&format!("line {seq}"))).collect(),
        now: NOW,
    }
}

async fn stored(store: &Store) -> Vec<(i64, i64)> {
    let rows =
        sqlx::query("select epoch, seq from fact order by epoch, seq").fetch_all(store.pool()).await.unwrap();
    rows.iter().map(|row| (row.get("epoch"), row.get("seq"))).collect()
}

fn committed(watermark: u64) -> Taken {
    Taken::Committed { watermark, refused: Vec::new() }
}

#[tokio::test]
async fn duplicates_and_overlaps_take_effect_once() {
    let store = testing::store().await;
    let id = cluster(&store, "east", 3).await;
    for (first, last, watermark) in [(1, 3, 3), (1, 3, 3), (2, 5, 5), (5, 5, 5), (6, 6, 6)] {
        assert_eq!(store.ingest(&facts(id, 3, first, last)).await.unwrap(), committed(watermark));
    }
    assert_eq!(stored(&store).await, (1..=6).map(|seq| (3, seq)).collect::<Vec<_>>());
    assert_eq!(store.ingest(&facts(id, 3, 8, 9)).await.unwrap(), Taken::Gap { watermark: 6 });
    assert_eq!(stored(&store).await.len(), 6);
}

#[tokio::test]
async fn streams_that_race_still_take_effect_once() {
    let store = testing::store().await;
    let id = cluster(&store, "east", 3).await;
    let racers = (0..8).map(|_| {
        let (store, batch) = (store.clone(), facts(id, 3, 1, 50));
        tokio::spawn(async move { store.ingest(&batch).await })
    });
    for racer in racers.collect::<Vec<_>>() {
        assert_eq!(racer.await.unwrap().unwrap(), committed(50));
    }
    assert_eq!(stored(&store).await.len(), 50);
}

#[tokio::test]
async fn batches_of_many_streams_are_taken_together_and_each_by_its_own_mark() {
    let store = testing::store().await;
    let (east, west) = (cluster(&store, "east", 3).await, cluster(&store, "west", 3).await);
    let stale = Batch { stream_epoch: Epoch(2), ..facts(west, 2, 1, 1) };
    let mut refused = facts(west, 3, 1, 2);
    refused.records[1].payload = Payload::Rejected("it is no fact".into());
    let all = [facts(east, 3, 1, 3), facts(east, 3, 2, 5), facts(east, 3, 9, 9), stale, refused];
    let expected = [
        committed(3),
        committed(5),
        Taken::Gap { watermark: 5 },
        Taken::Fenced,
        Taken::Committed { watermark: 2, refused: vec![(2, "it is no fact".to_owned())] },
    ];
    assert_eq!(store.ingest_all(&all.iter().collect::<Vec<_>>()).await.unwrap(), expected);
    assert_eq!(stored(&store).await, [(3, 1), (3, 1), (3, 2), (3, 3), (3, 4), (3, 5)]);
    assert_eq!(store.ingest(&facts(east, 3, 6, 6)).await.unwrap(), committed(6));
}

#[tokio::test]
async fn older_epochs_drain_through_the_life_in_charge_only() {
    let store = testing::store().await;
    let id = cluster(&store, "east", 3).await;
    assert_eq!(store.ingest(&facts(id, 2, 1, 2)).await.unwrap(), committed(2));
    assert_eq!(store.ingest(&facts(id, 4, 1, 2)).await.unwrap(), Taken::Fenced, "an epoch that is not ours");
    let old = Batch { stream_epoch: Epoch(2), ..facts(id, 2, 3, 4) };
    assert_eq!(store.ingest(&old).await.unwrap(), Taken::Fenced, "a25: a superseded stream");
    let unknown = facts(ClusterId(Uuid::now_v7()), 3, 1, 1);
    assert_eq!(store.ingest(&unknown).await.unwrap(), Taken::Fenced);
    let watermarks = store.watermarks(id).await.unwrap();
    assert_eq!(watermarks, [Watermark { epoch: Epoch(2), class: Class::Fact, seq: 2 }]);
}

#[tokio::test]
async fn a_batch_waits_for_another_life_and_for_nobody_who_only_counts() {
    let store = testing::store().await;
    let id = cluster(&store, "east", 3).await;
    let held = async |statements: [&'static str; 2]| {
        let mut other = store.pool().begin().await.unwrap();
        for statement in statements {
            sqlx::query(statement).bind(id.0).execute(&mut *other).await.unwrap();
        }
        other
    };
    let counts = held([
        "select 1 from cluster where id = $1 for no key update",
        "update cluster set desired_generation = desired_generation + 1 where id = $1",
    ]);
    let counts = counts.await;
    assert_eq!(store.ingest(&facts(id, 3, 1, 1)).await.unwrap(), committed(1), "nobody waits for a count");
    counts.commit().await.unwrap();
    let takes_over = held([
        "select 1 from cluster where id = $1 for update",
        "update cluster set agent_epoch = 4 where id = $1",
    ]);
    let takes_over = takes_over.await;
    let (other, batch) = (store.clone(), facts(id, 3, 2, 2));
    let late = tokio::spawn(async move { other.ingest(&batch).await.unwrap() });
    testing::link::someone_waits(&store).await;
    takes_over.commit().await.unwrap();
    assert_eq!(late.await.unwrap(), Taken::Fenced);
}

#[tokio::test]
async fn rejected_records_are_kept_and_passed() {
    let store = testing::store().await;
    let id = cluster(&store, "east", 3).await;
    let mut batch = facts(id, 3, 1, 3);
    batch.records[1].payload = Payload::Rejected("it is no fact".into());
    let refused = vec![(2, "it is no fact".to_owned())];
    assert_eq!(store.ingest(&batch).await.unwrap(), Taken::Committed { watermark: 3, refused });
    assert_eq!(stored(&store).await, [(3, 1), (3, 3)]);
    let reason: String = sqlx::query_scalar("select reason from rejected_record where seq = 2")
        .fetch_one(store.pool())
        .await
        .unwrap();
    assert_eq!(reason, "it is no fact");
}

#[tokio::test]
async fn lost_records_are_told_and_passed() {
    let store = testing::store().await;
    let id = cluster(&store, "east", 3).await;
    let lost = |first, last| Lost {
        cluster: id,
        stream_epoch: Epoch(3),
        epoch: Epoch(3),
        class: Class::Fact,
        first,
        last,
        reason: "a damaged segment".into(),
        now: NOW,
    };
    assert_eq!(store.pass_over(&lost(2, 4)).await.unwrap(), Taken::Gap { watermark: 0 });
    assert_eq!(store.pass_over(&lost(1, 4)).await.unwrap(), committed(4));
    assert_eq!(store.pass_over(&lost(1, 4)).await.unwrap(), committed(4));
    assert_eq!(store.pass_over(&lost(6, 5)).await.unwrap(), Taken::Gap { watermark: 4 });
    assert_eq!(store.ingest(&facts(id, 3, 5, 5)).await.unwrap(), committed(5));
    let told: Vec<String> =
        sqlx::query_scalar("select reason from rejected_record").fetch_all(store.pool()).await.unwrap();
    assert_eq!(told, ["records 1 to 4 were lost: a damaged segment"]);
}

fn log(batch: &Batch, attempt: AttemptId, offset: u64, text: &str) -> Batch {
    let chunk = Chunk {
        job: attempt.job,
        attempt: attempt.number,
        stream: "driver".into(),
        offset,
        data: text.as_bytes().to_vec(),
    };
    let records = vec![Record { observed_at: NOW, payload: Payload::Log(chunk) }];
    Batch { class: Class::Log, records, ..batch.clone() }
}

#[tokio::test]
async fn logs_read_back_without_repeats() {
    let store = testing::store().await;
    let id = cluster(&store, "east", 3).await;
    let attempt = attempt(&store, id).await;
    for (seq, offset, text) in [(1, 0, "hello "), (2, 6, "world"), (3, 4, "o world!"), (4, 0, "hello ")] {
        let batch = log(&facts(id, 3, seq, seq), attempt, offset, text);
        assert_eq!(store.ingest(&batch).await.unwrap(), committed(seq));
    }
    let piece = store.log_piece(attempt, "driver", 0).await.unwrap();
    assert_eq!(String::from_utf8(piece.data).unwrap(), "hello world!");
    assert_eq!(store.log_piece(attempt, "driver", 6).await.unwrap().data, b"world!");
    assert_eq!(store.log_piece(attempt, "driver", piece.end).await.unwrap().data, b"");
}

#[tokio::test]
async fn a30_logs_of_another_clusters_attempt_are_refused() {
    let store = testing::store().await;
    let (east, west) = (cluster(&store, "east", 3).await, cluster(&store, "west", 3).await);
    let attempt = attempt(&store, west).await;
    let batch = log(&facts(east, 3, 1, 1), attempt, 0, "forged");
    let Taken::Committed { watermark: 1, refused } = store.ingest(&batch).await.unwrap() else {
        panic!("the batch was not taken")
    };
    assert_eq!(refused, [(1, "the attempt does not run on this cluster".to_owned())]);
    assert_eq!(store.log_piece(attempt, "driver", 0).await.unwrap().data, b"");
}

#[tokio::test]
async fn a_log_without_end_is_cut_with_a_mark() {
    let store = testing::store().await;
    let id = cluster(&store, "east", 3).await;
    let job = crate::testing::fixture::queued(&store, "train").await.id;
    sqlx::query(
        "insert into attempt (job_id, number, cluster_id, state, object_name, chosen_because, assigned_at)
         values ($1, 1, $2, 'running', 'train', '', now())",
    )
    .bind(job.0)
    .bind(id.0)
    .execute(store.pool())
    .await
    .unwrap();
    let logs = |seq: u64, offset: u64, text: &str| {
        let chunk =
            Chunk { job, attempt: 1, stream: "driver".into(), offset, data: text.as_bytes().to_vec() };
        let records = vec![Record { observed_at: NOW, payload: Payload::Log(chunk) }];
        Batch { class: Class::Log, records, ..facts(id, 3, seq, seq) }
    };
    assert_eq!(store.ingest(&logs(1, 0, "one\n")).await.unwrap(), committed(1));
    let near = i64::try_from(super::rows::LOG_LIMIT).unwrap() - 5;
    crate::testing::fixture::execute(&store, "update log_size set bytes = $1", near).await;
    assert_eq!(store.ingest(&logs(2, 4, "two\n")).await.unwrap(), committed(2));
    let Taken::Committed { refused, .. } = store.ingest(&logs(3, 8, "three\n")).await.unwrap() else {
        panic!()
    };
    assert!(refused[0].1.contains("256 MiB"), "{refused:?}");
    assert_eq!(store.ingest(&logs(4, 14, "four\n")).await.unwrap(), committed(4), "told once");
    let attempt = squadron_core::id::AttemptId { job, number: 1 };
    let text = store.log_piece(attempt, "driver", 0).await.unwrap().data;
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("one\ntwo\n\n[cut: ") && !text.contains("four"), "{text}");
}
