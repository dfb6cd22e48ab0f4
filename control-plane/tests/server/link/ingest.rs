//! Exactly once, whatever the network does.

use rand::{Rng as _, SeedableRng as _};
use squadron_proto::link::{Gap, RecordClass, ingest_down, ingest_up, refused::Code};

use crate::{
    agent::{batch, line, lines},
    plane::Plane,
};

/// Numbers of the lines that are stored for an epoch, in order of their record number.
async fn stored(plane: &Plane, epoch: i64) -> Vec<u64> {
    let facts: Vec<(i64, String)> =
        squadron_store::testing::link::kernel_lines(&plane.running.app.store, epoch).await;
    facts.iter().map(|(_, line)| line.strip_prefix("line ").unwrap().parse().unwrap()).collect()
}

#[tokio::test]
async fn every_record_is_taken_once_under_reconnects_and_duplicates() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let mut random = rand::rngs::StdRng::seed_from_u64(7);
    let mut committed = 0;
    for _ in 0..30 {
        let mut ingest = agent.ingest(&plane, 1).await.unwrap();
        assert_eq!(ingest.watermark(1), committed, "the welcome says what was committed");
        for _ in 0..random.random_range(1..5) {
            let first = random.random_range(1..=committed + 1);
            let last = first + random.random_range(0..20);
            ingest.send(1, first, &lines(first, last)).await;
            let acknowledged = ingest.ack().await.unwrap();
            assert_eq!(acknowledged, committed.max(last));
            committed = acknowledged;
        }
        // One more on the way while the connection breaks: committed or not, nobody was told.
        ingest.send(1, committed + 1, &lines(committed + 1, committed + 3)).await;
        drop(ingest);
        committed = settled(&plane, &agent, committed).await;
    }
    assert_eq!(stored(&plane, 1).await, (1..=committed).collect::<Vec<_>>());
    plane.stop().await;
}

/// Where the watermark stands once nothing is on the way any more.
async fn settled(plane: &Plane, agent: &crate::agent::Agent, committed: u64) -> u64 {
    let mut ingest = agent.ingest(plane, 1).await.unwrap();
    ingest.send(1, committed + 1, &lines(committed + 1, committed + 3)).await;
    ingest.ack().await.unwrap()
}

#[tokio::test]
async fn a_record_that_cannot_be_taken_is_put_aside_and_passed() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let mut ingest = agent.ingest(&plane, 1).await.unwrap();
    ingest.send(1, 1, &[line(1), "{\"kind\":\"flying_saucer\"}".into(), line(3)]).await;
    let ingest_down::Message::Nack(nack) = ingest.next().await.unwrap() else { panic!("no nack") };
    assert_eq!(nack.seq, 2);
    assert!(nack.reason.contains("flying_saucer"), "{}", nack.reason);
    assert_eq!(ingest.ack().await.unwrap(), 3);
    assert_eq!(stored(&plane, 1).await, [1, 3]);
    plane.stop().await;
}

#[tokio::test]
async fn older_epochs_drain_first_and_lost_records_are_passed_over() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    agent.control(&plane, 2).await.unwrap();
    let mut ingest = agent.ingest(&plane, 2).await.unwrap();
    ingest.send(1, 1, &lines(1, 2)).await;
    assert_eq!(ingest.ack().await.unwrap(), 2);
    let gap = Gap {
        epoch: 1,
        class: RecordClass::Fact.into(),
        first_seq: 3,
        last_seq: 9,
        reason: "a damaged segment".into(),
    };
    ingest.say(ingest_up::Message::Gap(gap)).await;
    assert_eq!(ingest.ack().await.unwrap(), 9);
    ingest.send(1, 10, &lines(10, 10)).await;
    assert_eq!(ingest.ack().await.unwrap(), 10);
    ingest.send(2, 1, &lines(1, 1)).await;
    assert_eq!(ingest.ack().await.unwrap(), 1);
    assert_eq!((stored(&plane, 1).await, stored(&plane, 2).await), (vec![1, 2, 10], vec![1]));
    plane.stop().await;
}

#[tokio::test]
async fn what_is_missing_bent_or_too_long_ends_the_stream_and_changes_nothing() {
    let plane = Plane::start().await;
    let agent = plane.east().await;
    let mut bomb = batch(1, 1, &lines(1, 1));
    bomb.zstd = zstd::encode_all(vec![0_u8; 64 << 20].as_slice(), 1).unwrap().into();
    let mut misnumbered = batch(1, 1, &lines(1, 2));
    misnumbered.first_seq = 2;
    let cases =
        [(batch(1, 5, &lines(5, 6)), "are missing"), (bomb, "unpacked"), (misnumbered, "not contiguous")];
    for (batch, told) in cases {
        let mut ingest = agent.ingest(&plane, 1).await.unwrap();
        ingest.say(ingest_up::Message::Batch(batch)).await;
        let refused = ingest.next().await.err().unwrap().refused();
        assert_eq!(refused.code(), Code::Unspecified);
        assert!(refused.message.contains(told), "{}", refused.message);
    }
    let mut ingest = agent.ingest(&plane, 1).await.unwrap();
    let mut long = batch(1, 1, &lines(1, 1));
    long.zstd = vec![7; (1 << 20) + 8192].into();
    ingest.say(ingest_up::Message::Batch(long)).await;
    assert!(ingest.next().await.is_err(), "a55: a message beyond 1 MiB");
    assert!(stored(&plane, 1).await.is_empty());
    plane.stop().await;
}
