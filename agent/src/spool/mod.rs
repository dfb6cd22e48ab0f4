//! Spool: numbered records on disk until the control plane has committed them.
//!
//! Owns the folder `spool`. Invariant: a producer that was told "durable" finds its record again after kill -9, and it is
//! deleted only after it was acknowledged; the two exceptions, damage and logs given up on a full disk, are reported as
//! gaps in the numbering, never silently. A disk that fails ends the process; the next one starts from recovery.

mod acked;
mod append;
mod disk;
mod index;
mod read;
mod record;
mod recover;
mod scan;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    task::JoinHandle,
};

use append::Appender;
pub use append::{AppendError, Limits, Receipt, Unnumbered};
pub use disk::{DiskError, remove, replace};
pub use index::{Index, Load};
pub use read::{Chunk, Reader};
pub use record::{Class, PAYLOAD_LIMIT, Record, Stream};
pub use recover::{Recovered, recover};

/// A group is synced when its first record has waited this long,
const GROUP_WAIT: Duration = Duration::from_millis(20);
/// or when it has grown to this many bytes.
const GROUP_BYTES: usize = 256 * 1024;
/// Records on their way to the disk.
const QUEUE: usize = 256;
/// Refused records that are kept.
const MOST_REFUSED: usize = 1_000;
const FULL_PAUSE: Duration = Duration::from_secs(1);

/// The spool ended: its disk failed, or the process stops.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the spool takes no more records")]
pub struct Closed;

struct Pending {
    record: Unnumbered,
    done: Option<oneshot::Sender<Receipt>>,
}

/// Handle on the spool of a running agent.
#[derive(Clone)]
pub struct Spool {
    folder: PathBuf,
    epoch: u64,
    index: Arc<Mutex<Index>>,
    queue: mpsc::Sender<Pending>,
    grown: watch::Receiver<u64>,
    space: Arc<Notify>,
}

impl Spool {
    /// Starts a spool for `epoch` over a recovered folder. The task ends with an error if the disk fails.
    pub fn start(
        folder: &Path,
        epoch: u64,
        limits: Limits,
        recovered: Index,
    ) -> (Spool, JoinHandle<Result<(), DiskError>>) {
        let index = Arc::new(Mutex::new(recovered));
        let (queue, incoming) = mpsc::channel(QUEUE);
        let (grow, grown) = watch::channel(0);
        let space = Arc::new(Notify::new());
        let appender = Appender::new(folder.to_owned(), epoch, limits, index.clone());
        let task = tokio::spawn(commit(appender, incoming, grow, space.clone()));
        (Spool { folder: folder.to_owned(), epoch, index, queue, grown, space }, task)
    }

    /// The epoch under which records are numbered.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Queues a record; waits only while the queue is full.
    pub async fn put(&self, record: Unnumbered) -> Result<(), Closed> {
        self.queue.send(Pending { record, done: None }).await.map_err(|_| Closed)
    }

    /// Queues a record and waits until it is on the disk.
    pub async fn put_durable(&self, record: Unnumbered) -> Result<Receipt, Closed> {
        let (done, durable) = oneshot::channel();
        self.queue.send(Pending { record, done: Some(done) }).await.map_err(|_| Closed)?;
        durable.await.map_err(|_| Closed)
    }

    /// Changes whenever records became durable.
    pub fn grown(&self) -> watch::Receiver<u64> {
        self.grown.clone()
    }

    /// Streams with records, in the order in which they should be sent.
    pub fn streams(&self) -> Vec<Stream> {
        self.index().streams()
    }

    pub fn load(&self) -> Load {
        self.index().load()
    }

    pub fn reader(&self, stream: Stream, after: u64) -> Reader {
        Reader::new(self.index.clone(), stream, after)
    }

    /// The control plane committed everything of `stream` up to `seq`. Answers the files that nobody needs any more, mostly none.
    #[must_use]
    pub fn acknowledge(&self, stream: Stream, seq: u64) -> Vec<PathBuf> {
        self.index().ack(stream, seq)
    }

    /// Removes files that nobody needs. They go before anything is written, because on a full disk only that makes room.
    pub fn remove(&self, done: &[PathBuf]) -> Result<(), DiskError> {
        let acked = self.index().acked();
        let removed: Vec<Result<(), DiskError>> = done.iter().map(|path| disk::remove(path)).collect();
        self.space.notify_one();
        acked::keep_acked(&self.folder, &acked);
        removed.into_iter().collect()
    }

    /// Keeps a copy of a record that the control plane refused for good, with the reason, for people to look at.
    pub fn put_aside(&self, stream: Stream, seq: u64, reason: &str) -> Result<(), DiskError> {
        let Chunk::Records(records) = self.reader(stream, seq.saturating_sub(1)).read(1)? else {
            return Ok(());
        };
        let Some(record) = records.first().filter(|record| record.seq == seq) else { return Ok(()) };
        let folder = self.folder.join("refused");
        std::fs::create_dir_all(&folder).map_err(DiskError::at("create", &folder))?;
        let held = std::fs::read_dir(&folder).map_err(DiskError::at("list", &folder))?.count();
        if held >= MOST_REFUSED {
            return Ok(());
        }
        let name = format!("{}-{}-{seq}", stream.epoch, stream.class.word());
        let content = [reason.as_bytes(), b"\n", &record.payload].concat();
        replace(&folder.join(name), &content)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes groups from the queue until it closes, and makes each durable.
async fn commit(
    mut appender: Appender,
    mut incoming: mpsc::Receiver<Pending>,
    grow: watch::Sender<u64>,
    space: Arc<Notify>,
) -> Result<(), DiskError> {
    while let Some(group) = gather(&mut incoming).await {
        let (records, waiting): (Vec<_>, Vec<_>) =
            group.into_iter().map(|pending| (pending.record, pending.done)).unzip();
        let receipts = loop {
            let attempt = records.clone();
            let (back, result) = blocking(appender, move |appender| appender.append(&attempt)).await;
            appender = back;
            match result {
                Ok(receipts) => break receipts,
                Err(AppendError::Disk(error)) => return Err(error),
                Err(full @ AppendError::Full) => {
                    tracing::error!(%full, "facts wait for room");
                    let _ = tokio::time::timeout(FULL_PAUSE, space.notified()).await;
                }
            }
        };
        grow.send_modify(|generation| *generation += 1);
        for (done, receipt) in waiting.into_iter().zip(receipts) {
            if let Some(done) = done {
                let _ = done.send(receipt);
            }
        }
    }
    Ok(())
}

/// The next group: the first record, and what comes within the time and size of a group.
async fn gather(incoming: &mut mpsc::Receiver<Pending>) -> Option<Vec<Pending>> {
    let first = incoming.recv().await?;
    let deadline = tokio::time::Instant::now() + GROUP_WAIT;
    let mut bytes = first.record.payload.len();
    let mut group = vec![first];
    while bytes < GROUP_BYTES {
        match tokio::time::timeout_at(deadline, incoming.recv()).await {
            Ok(Some(pending)) => {
                bytes += pending.record.payload.len();
                group.push(pending);
            }
            Ok(None) | Err(_) => break,
        }
    }
    Some(group)
}

/// Runs `work` on a thread that may block, and gives its subject back.
async fn blocking<S: Send + 'static, T: Send + 'static>(
    mut subject: S,
    work: impl FnOnce(&mut S) -> T + Send + 'static,
) -> (S, T) {
    let task = tokio::task::spawn_blocking(move || {
        let result = work(&mut subject);
        (subject, result)
    });
    match task.await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is being taken down; nobody waits for this any more.
        Err(_cancelled) => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
