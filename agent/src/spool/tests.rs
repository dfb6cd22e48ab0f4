//! Records survive kill -9, torn writes and full disks.

#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;
use squadron_core::time::Timestamp;
use std::{collections::BTreeMap, fs};

const LIMITS: Limits = Limits { total: 1 << 30, logs: 1 << 29, segment: 400 };

fn unnumbered(class: Class, text: &str) -> Unnumbered {
    Unnumbered { class, at: Timestamp(1), payload: text.as_bytes().to_vec() }
}

fn appender(folder: &Path, epoch: u64, limits: Limits) -> (Appender, Arc<Mutex<Index>>) {
    let index = Arc::new(Mutex::new(recover(folder, |_| {}).unwrap().index));
    (Appender::new(folder.to_owned(), epoch, limits, index.clone()), index)
}

/// Everything of a stream after `after`: numbers and texts, and the gaps.
fn read_all(
    index: &Arc<Mutex<Index>>,
    stream: Stream,
    after: u64,
) -> (BTreeMap<u64, String>, Vec<(u64, u64)>) {
    let mut reader = Reader::new(index.clone(), stream, after);
    let (mut records, mut gaps) = (BTreeMap::new(), Vec::new());
    loop {
        match reader.read(100).unwrap() {
            Chunk::Records(chunk) => {
                records.extend(chunk.into_iter().map(|r| (r.seq, String::from_utf8(r.payload).unwrap())));
            }
            Chunk::Gap { first, last } => gaps.push((first, last)),
            Chunk::Nothing => return (records, gaps),
        }
    }
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "seg"));
    paths.sort();
    paths
}

const FACTS: Stream = Stream { epoch: 1, class: Class::Fact };

fn fill(folder: &Path, epoch: u64, count: usize) -> Arc<Mutex<Index>> {
    let (mut appender, index) = appender(folder, epoch, LIMITS);
    for number in 1..=count {
        appender.append(&[unnumbered(Class::Fact, &format!("fact {number}"))]).unwrap();
    }
    index
}

#[test]
fn records_come_back_from_any_number_over_many_segments() {
    let folder = tempfile::tempdir().unwrap();
    let index = fill(folder.path(), 1, 50);
    assert!(segments(folder.path()).len() > 3);
    for after in [0, 1, 17, 49, 50] {
        let (records, gaps) = read_all(&index, FACTS, after);
        assert_eq!(records.len() as u64, 50 - after);
        assert!(records.iter().all(|(seq, text)| *text == format!("fact {seq}")) && gaps.is_empty());
    }
}

#[test]
fn a_restart_finds_everything_that_was_not_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let before = fill(folder.path(), 1, 50);
    let done = before.lock().unwrap().ack(FACTS, 30);
    assert!(!done.is_empty());
    acked::keep_acked(folder.path(), &before.lock().unwrap().acked());
    let after = recover(folder.path(), |_| {}).unwrap();
    assert!(done.iter().all(|path| !path.exists()), "acknowledged files go at the next start at the latest");
    assert_eq!(after.index.load().records, 20);
    let (records, _) = read_all(&Arc::new(Mutex::new(after.index)), FACTS, 30);
    assert_eq!(records.keys().copied().collect::<Vec<_>>(), (31..=50).collect::<Vec<_>>());
}

#[test]
fn damage_inside_a_sealed_segment_is_put_aside_and_shows_as_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 1, 50);
    let victim = &segments(folder.path())[1];
    let mut bytes = fs::read(victim).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(victim, bytes).unwrap();
    for _ in 0..2 {
        let recovered = recover(folder.path(), |_| {}).unwrap();
        let (records, gaps) = read_all(&Arc::new(Mutex::new(recovered.index)), FACTS, 0);
        assert_eq!((records.len(), gaps.len()), (49, 1));
        assert_eq!(gaps[0].0, gaps[0].1, "one record was hit");
        assert!(victim.with_extension("damaged").exists());
    }
}

#[test]
fn a_record_that_rots_while_we_run_is_a_gap_too() {
    let folder = tempfile::tempdir().unwrap();
    let index = fill(folder.path(), 1, 20);
    let victim = &segments(folder.path())[0];
    let mut bytes = fs::read(victim).unwrap();
    bytes[record::OVERHEAD] ^= 0xff;
    fs::write(victim, bytes).unwrap();
    let (records, gaps) = read_all(&index, FACTS, 0);
    assert_eq!((records.len(), gaps), (19, vec![(1, 1)]));
}

#[test]
fn logs_give_way_to_facts_and_facts_wait() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { total: 4_000, logs: 2_000, segment: 400 };
    let (mut appender, index) = appender(folder.path(), 1, limits);
    let text = "x".repeat(100);
    for _ in 0..60 {
        appender.append(&[unnumbered(Class::Log, &text)]).unwrap();
    }
    let logs = Stream { epoch: 1, class: Class::Log };
    let (kept, gaps) = read_all(&index, logs, 0);
    assert!(index.lock().unwrap().bytes(Class::Log) <= 2_000);
    assert_eq!((gaps.len(), gaps[0].0, *kept.keys().last().unwrap()), (1, 1, 60));
    assert_eq!(appender.given_up.0, gaps[0].1);
    let full = (0..100).find_map(|_| appender.append(&[unnumbered(Class::Fact, &text)]).err());
    assert!(matches!(full, Some(AppendError::Full)));
    let facts = index.lock().unwrap().bytes(Class::Fact);
    assert!(facts > 3_000, "logs were given up for facts, but {facts} bytes of facts are held");
    let (held, _) = read_all(&index, FACTS, 0);
    for path in index.lock().unwrap().ack(FACTS, held.len() as u64) {
        disk::remove(&path).unwrap();
    }
    let receipts = appender.append(&[unnumbered(Class::Fact, &text)]).unwrap();
    assert_eq!(receipts, [Receipt::Durable(held.len() as u64 + 1)], "no number was lost while it waited");
}

#[test]
fn a_record_that_no_batch_can_carry_is_dropped_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut appender, _) = appender(folder.path(), 1, LIMITS);
    let huge = Unnumbered { payload: vec![0; PAYLOAD_LIMIT + 1], ..unnumbered(Class::Fact, "") };
    let receipts =
        appender.append(&[unnumbered(Class::Fact, "a"), huge, unnumbered(Class::Fact, "b")]).unwrap();
    assert_eq!(receipts, [Receipt::Durable(1), Receipt::Dropped, Receipt::Durable(2)]);
}

#[tokio::test]
async fn durable_means_found_by_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let (spool, _task) = Spool::start(folder.path(), 4, LIMITS, Index::default());
    let mut puts = tokio::task::JoinSet::new();
    for number in 0..40 {
        let spool = spool.clone();
        puts.spawn(
            async move { spool.put_durable(unnumbered(Class::Fact, &number.to_string())).await.unwrap() },
        );
    }
    let receipts = puts.join_all().await;
    assert!(receipts.iter().all(|receipt| matches!(receipt, Receipt::Durable(_))));
    let mut found = Vec::new();
    recover(folder.path(), |record| found.push(String::from_utf8(record.payload.clone()).unwrap())).unwrap();
    found.sort_by_key(|text| text.parse::<u32>().unwrap());
    assert_eq!(found, (0..40).map(|number| number.to_string()).collect::<Vec<_>>());
}

/// A full disk: nothing new can be written beside the records, as if every small file failed.
fn let_no_note_be_written(folder: &Path) {
    fs::create_dir(folder.join("acked.tmp")).unwrap();
}

#[tokio::test]
async fn an_acknowledgement_frees_a_disk_that_takes_no_note_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let index = recover_after(fill(folder.path(), 1, 50), folder.path());
    let (spool, _task) = Spool::start(folder.path(), 2, LIMITS, index);
    let before = segments(folder.path()).len();
    let_no_note_be_written(folder.path());
    let done = spool.acknowledge(FACTS, 30);
    spool.remove(&done).unwrap();
    assert!(segments(folder.path()).len() < before, "the acknowledged files are gone");
    assert_eq!(spool.load().records, 20);
}

#[test]
fn a_start_goes_on_although_no_note_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    drop(fill(folder.path(), 1, 50));
    let_no_note_be_written(folder.path());
    assert_eq!(recover(folder.path(), |_| {}).unwrap().index.load().records, 50);
}

#[tokio::test]
async fn a_refused_record_is_kept_in_a_file_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let index = recover_after(fill(folder.path(), 1, 3), folder.path());
    let (spool, _task) = Spool::start(folder.path(), 2, LIMITS, index);
    spool.put_aside(FACTS, 2, "the fact cannot be read").unwrap();
    spool.put_aside(FACTS, 9, "nobody has this one").unwrap();
    let kept: Vec<PathBuf> =
        fs::read_dir(folder.path().join("refused")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "the fact cannot be read\nfact 2");
    assert_eq!(
        recover(folder.path(), |_| {}).unwrap().index.load().records,
        3,
        "the folder is no spool file"
    );
}

fn recover_after(written: Arc<Mutex<Index>>, folder: &Path) -> Index {
    drop(written);
    recover(folder, |_| {}).unwrap().index
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Cut the newest file anywhere, damage any byte: what recovery gives is a subset in order, told gaps and records
    /// together cover every number up to the last one, and a second recovery changes nothing.
    #[test]
    fn recovery_is_honest(cut in any::<prop::sample::Index>(), hit in prop::option::of(any::<prop::sample::Index>())) {
        let folder = tempfile::tempdir().unwrap();
        fill(folder.path(), 1, 30);
        let files = segments(folder.path());
        let newest = files.last().unwrap();
        let bytes = fs::read(newest).unwrap();
        fs::write(newest, &bytes[..cut.index(bytes.len() + 1)]).unwrap();
        if let Some(hit) = hit {
            let victim = &files[hit.index(files.len())];
            let mut bytes = fs::read(victim).unwrap();
            if !bytes.is_empty() {
                let position = hit.index(bytes.len());
                bytes[position] ^= 0x55;
                fs::write(victim, bytes).unwrap();
            }
        }
        let first = read_all(&Arc::new(Mutex::new(recover(folder.path(), |_| {}).unwrap().index)), FACTS, 0);
        let second = read_all(&Arc::new(Mutex::new(recover(folder.path(), |_| {}).unwrap().index)), FACTS, 0);
        prop_assert_eq!(&first, &second);
        let (records, gaps) = first;
        let last = records.keys().last().copied().unwrap_or(0);
        for seq in 1..=last {
            let lost = gaps.iter().any(|(from, to)| (*from..=*to).contains(&seq));
            prop_assert!(records.contains_key(&seq) != lost, "{}", seq);
        }
        for (seq, text) in records {
            prop_assert_eq!(text, format!("fact {}", seq));
        }
    }
}
