//! Kill: a process that writes to the spool is killed with SIGKILL again and again, and nothing it called durable is lost.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use squadron_agent::spool::{
    Chunk, Class, Index, Limits, Reader, Receipt, Spool, Stream, Unnumbered, recover,
};
use squadron_core::time::Timestamp;

const FOLDER: &str = "SPOOL_KILL_FOLDER";
const EPOCH: &str = "SPOOL_KILL_EPOCH";
const ROUNDS: u64 = 8;
const RECORDS_PER_ROUND: usize = 40;

fn text(epoch: u64, number: u64) -> String {
    format!("epoch {epoch} record {number} {}", "x".repeat(usize::try_from(number % 700).unwrap()))
}

/// Not a test of its own: what the killed process does, when the folder is named to it.
#[test]
fn writer() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
    let epoch = env::var(EPOCH).unwrap().parse().unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(write_for_ever(&folder, epoch));
}

async fn write_for_ever(folder: &Path, epoch: u64) {
    let recovered = recover(folder, |_| {}).unwrap();
    let limits = Limits { total: 1 << 30, logs: 1 << 29, segment: 16 * 1024 };
    let (spool, _task) = Spool::start(folder, epoch, limits, recovered.index);
    for number in 1.. {
        let payload = text(epoch, number).into_bytes();
        let record = Unnumbered { class: Class::Fact, at: Timestamp(1), payload };
        assert_eq!(spool.put_durable(record).await.unwrap(), Receipt::Durable(number));
        let mut out = std::io::stdout();
        writeln!(out, "durable {epoch} {number}").unwrap();
        out.flush().unwrap();
    }
}

fn spawn(folder: &Path, epoch: u64) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "writer", "--nocapture"])
        .env(FOLDER, folder)
        .env(EPOCH, epoch.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads what the writer calls durable, kills it in the middle of its work, and answers the last number it told.
fn kill_in_the_middle(mut child: Child) -> u64 {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let deadline = Instant::now() + Duration::from_secs(30);
    let (mut told, mut count) = (0, 0);
    for line in lines {
        let line = line.unwrap();
        let Some(number) = line.strip_prefix("durable ").and_then(|rest| rest.split(' ').nth(1)) else {
            continue;
        };
        told = number.parse().unwrap();
        count += 1;
        if count == RECORDS_PER_ROUND {
            // What it tells between the kill and its end is read as well.
            child.kill().unwrap();
        }
        assert!(Instant::now() < deadline, "the writer is too slow");
    }
    child.wait().unwrap();
    assert!(count >= RECORDS_PER_ROUND, "the writer ended by itself");
    told
}

fn read_all(index: &Arc<Mutex<Index>>, epoch: u64) -> BTreeMap<u64, String> {
    let mut reader = Reader::new(index.clone(), Stream { epoch, class: Class::Fact }, 0);
    let mut records = BTreeMap::new();
    loop {
        match reader.read(8 * 1024).unwrap() {
            Chunk::Records(chunk) => {
                records.extend(chunk.into_iter().map(|r| (r.seq, String::from_utf8(r.payload).unwrap())));
            }
            Chunk::Gap { first, last } => panic!("records {first} to {last} of epoch {epoch} are lost"),
            Chunk::Nothing => return records,
        }
    }
}

#[test]
fn nothing_that_was_called_durable_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let told: BTreeMap<u64, u64> =
        (1..=ROUNDS).map(|epoch| (epoch, kill_in_the_middle(spawn(folder.path(), epoch)))).collect();
    let recovered = recover(folder.path(), |_| {}).unwrap();
    assert!(recovered.damaged.is_empty(), "{:?}", recovered.damaged);
    let index = Arc::new(Mutex::new(recovered.index));
    for (epoch, last) in told {
        let records = read_all(&index, epoch);
        assert!(records.len() as u64 >= last, "epoch {epoch}: {} of {last}", records.len());
        for (number, found) in records {
            assert_eq!(found, text(epoch, number));
        }
    }
}
