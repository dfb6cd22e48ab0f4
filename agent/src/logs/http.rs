//! The log of a job in HTTPMode, from Ray's dashboard.
//!
//! The dashboard gives the whole log each time, so it is asked once a second and only what is new is taken. Of a log
//! that grows beyond [`LIMIT`] the beginning is kept, and its end says that the rest is not. After a try's
//! end the last look is repeated until it succeeds, or fails a few times; the head is kept for it (see
//! [`Logs::is_open`](super::Logs::is_open)).

use std::time::Duration;

use serde_json::Value;
use squadron_ray::{job::is_terminal, view::Object};
use tokio::task::block_in_place;

use super::{
    Chunk, Shared, Source,
    answer::{beginning, whole},
    mark::Mark,
};
use crate::{
    controller::last_line,
    watch::{Kind, object::has_ended},
};

const EVERY: Duration = Duration::from_secs(1);
/// Largest answer that is read, in bytes.
const LIMIT: usize = 16 * 1024 * 1024;
/// Bytes of one chunk at most.
const CHUNK: usize = 64 * 1024;
/// How often the last look after the job's end is tried.
const LAST_LOOKS: u32 = 5;
/// The last line of a log that is longer.
const CUT: &[u8] = b"\n[squadron: the log goes on; in HTTPMode no more than its first 16 MiB are kept]\n";

/// What a look at the log gave.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Look {
    /// The log, and whether it goes on beyond what is read.
    Log { text: String, is_cut: bool },
    /// There is no dashboard or no submission yet.
    Nowhere,
    /// It could not be read, for this reason.
    Failed(String),
}

/// One submission's log, and how far it was taken. A RayJob that Ray tries again gets a new one.
struct Reader {
    submission: String,
    mark: Mark,
    last_looks: u32,
}

/// Takes the logs of all tries until the RayJob ended or is gone.
pub(super) async fn follow(shared: &Shared, source: &Source) {
    let mut reader = Reader::begin(shared, source, "");
    while let Some(job) = shared.cache.get(Kind::RayJob, &source.namespace, &source.name) {
        if crate::watch::object::uid(&job) != source.uid {
            return;
        }
        let submission = submission(&job);
        if reader.submission != submission {
            reader = Reader::begin(shared, source, submission);
        }
        if !shared.is_read(&source.uid, submission) && !reader.look(shared, source, &job).await {
            return;
        }
        if has_ended(&job) && shared.is_read(&source.uid, submission) {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

impl Reader {
    fn begin(shared: &Shared, source: &Source, submission: &str) -> Reader {
        let uid = format!("{}/{submission}", source.uid);
        let mark = Mark::load(&shared.folder, source.attempt, &uid, &shared.spooled);
        Reader { submission: submission.to_owned(), mark, last_looks: 0 }
    }

    /// Takes what is new, and notes when that was the end. False when nobody takes chunks any more.
    async fn look(&mut self, shared: &Shared, source: &Source, job: &Object) -> bool {
        let over = is_over(job);
        self.last_looks += u32::from(over);
        let look = ask(shared, job).await;
        let is_last = over && self.last_looks >= LAST_LOOKS;
        let (new, at_end) = match look {
            Look::Log { text, is_cut } => (new_bytes(&text, is_cut, self.mark.taken()), over || is_cut),
            Look::Nowhere => (Vec::new(), over),
            Look::Failed(why) if is_last => (unread(&why), true),
            Look::Failed(_) => (Vec::new(), false),
        };
        if !take(shared, source, &mut self.mark, &new).await {
            return false;
        }
        if at_end {
            shared.note_read(&source.uid, &self.submission);
        }
        true
    }
}

/// Ray's id of the present try; empty before there is one.
pub(super) fn submission(job: &Value) -> &str {
    job["status"]["jobId"].as_str().unwrap_or_default()
}

/// Whether the present try is over: Ray said its last word, another is to follow, or none is.
fn is_over(job: &Value) -> bool {
    let retries = job["status"]["jobDeploymentStatus"] == "Retrying";
    let verdict = job["status"]["jobStatus"].as_str().unwrap_or_default();
    retries || has_ended(job) || is_terminal(verdict)
}

async fn ask(shared: &Shared, job: &Object) -> Look {
    let text = |key: &str| job["status"][key].as_str().filter(|text| !text.is_empty());
    let (Some(dashboard), Some(id)) = (text("dashboardURL"), text("jobId")) else { return Look::Nowhere };
    match shared.dashboards.logs(dashboard, id, LIMIT).await {
        Ok(((200, body), is_cut)) => {
            let text = if is_cut { beginning(&body) } else { whole(&body) };
            let unread = || Look::Failed("the dashboard's answer is none that Ray gives".to_owned());
            text.map_or_else(unread, |text| Look::Log { text, is_cut })
        }
        Ok(((code, body), _)) => Look::Failed(format!("the dashboard answered {code}: {}", last_line(&body))),
        Err(error) => Look::Failed(error.to_string()),
    }
}

/// The end of a log whose rest nobody could read. Ray gives no log that holds a byte that is not UTF-8.
fn unread(why: &str) -> Vec<u8> {
    format!("\n[squadron: the log, or its end, could not be read from Ray: {why}]\n").into_bytes()
}

/// What of the log is new after `taken` bytes. The note at a cut log's end counts as its last bytes, so that a restart
/// does not write it twice.
fn new_bytes(text: &str, is_cut: bool, taken: u64) -> Vec<u8> {
    let known = usize::try_from(taken).unwrap_or(usize::MAX);
    let end = if is_cut { CUT } else { b"" };
    let log = [text.as_bytes(), end].concat();
    log.get(known..).unwrap_or_default().to_vec()
}

/// False when nobody takes chunks any more.
async fn take(shared: &Shared, source: &Source, mark: &mut Mark, new: &[u8]) -> bool {
    for data in new.chunks(CHUNK) {
        let chunk = Chunk { attempt: source.attempt, offset: mark.offset(), data: data.to_vec() };
        if !shared.keep(chunk).await {
            return false;
        }
        block_in_place(|| mark.advance(data.len(), None));
    }
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::{Arc, Mutex};

    use kube::Client;
    use serde_json::json;
    use squadron_core::id::AttemptId;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;
    use crate::{
        controller::Dashboards,
        logs::{Logs, SourceKind, Spooled, lock},
        watch::Cache,
    };

    /// The text that heads serve, by submission; asked about another one they fail.
    type Texts = Arc<Mutex<Vec<(&'static str, &'static str)>>>;

    /// A server that answers for the log of a job in its path.
    async fn heads(texts: Texts) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut request = vec![0; 4096];
                let read = socket.read(&mut request).await.unwrap();
                let request = String::from_utf8_lossy(&request[..read]).into_owned();
                let known =
                    lock(&texts).iter().find(|(id, _)| request.contains(&format!("/{id}/logs"))).copied();
                let (code, body) =
                    known.map_or((503, String::new()), |(_, text)| (200, json!({"logs": text}).to_string()));
                let head = format!(
                    "HTTP/1.1 {code} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                let _ = socket.write_all(format!("{head}{body}").as_bytes()).await;
            }
        });
        address
    }

    struct Bench {
        logs: Logs,
        taken: Arc<Mutex<String>>,
        dashboard: String,
        version: u32,
        _folder: tempfile::TempDir,
    }

    impl Bench {
        async fn new(texts: Texts) -> Bench {
            let (folder, taken) = (tempfile::tempdir().unwrap(), Arc::<Mutex<String>>::default());
            let cache = Arc::new(Cache::default());
            let sink = taken.clone();
            let keep = Arc::new(move |chunk: Chunk| {
                lock(&sink).push_str(std::str::from_utf8(&chunk.data).unwrap());
                Box::pin(async { true }) as _
            });
            let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
            let dashboards = Dashboards::new(cache.clone()).unwrap();
            let (client, place) = (Client::try_from(nowhere).unwrap(), folder.path().to_owned());
            let logs = Logs::new(client, cache, dashboards, keep, place, Spooled::default()).unwrap();
            Bench { logs, taken, dashboard: heads(texts).await, version: 0, _folder: folder }
        }

        fn becomes(&mut self, state: &str, submission: &str, verdict: &str) {
            self.version += 1;
            let status = json!({"jobDeploymentStatus": state, "jobId": submission, "jobStatus": verdict,
                "dashboardURL": self.dashboard});
            let metadata = json!({"uid": "u", "namespace": "ml", "name": "train",
                "resourceVersion": self.version.to_string()});
            let job = json!({"metadata": metadata, "status": status});
            self.logs.0.cache.shelf(Kind::RayJob).put(Arc::new(job));
        }

        async fn until(&self, what: impl Fn(&str) -> bool) {
            let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
            while !what(&lock(&self.taken)) {
                assert!(tokio::time::Instant::now() < deadline, "taken: {}", lock(&self.taken));
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }

    fn source() -> Source {
        let attempt = AttemptId { job: "0196f0a0-0000-7000-8000-000000000001".parse().unwrap(), number: 1 };
        let text = str::to_owned;
        Source {
            kind: SourceKind::RayJob,
            attempt,
            namespace: text("ml"),
            name: text("train"),
            uid: text("u"),
            container: text(""),
        }
    }

    /// A job that runs, and whose log is followed and taken so far.
    async fn running(log: &'static str) -> (Bench, Texts, tokio::task::JoinHandle<()>) {
        let texts: Texts = Arc::new(Mutex::new(vec![("one", log)]));
        let mut bench = Bench::new(texts.clone()).await;
        bench.becomes("Running", "one", "RUNNING");
        let logs = bench.logs.clone();
        let following = tokio::spawn(async move { follow(&logs.0, &source()).await });
        bench.until(|taken| taken == log).await;
        (bench, texts, following)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_second_try_gives_its_log_from_its_beginning_and_each_is_read_to_its_end() {
        let (mut bench, texts, following) = running("a long first log\n").await;
        assert!(!bench.logs.0.is_read("u", "one"));
        *lock(&texts) = vec![("one", "a long first log\nbye\n")];
        bench.becomes("Retrying", "one", "FAILED");
        bench.until(|taken| taken.ends_with("bye\n") && bench.logs.0.is_read("u", "one")).await;
        *lock(&texts) = vec![("two", "2nd\n")];
        bench.becomes("Complete", "two", "SUCCEEDED");
        following.await.unwrap();
        assert!(bench.logs.0.is_read("u", "two"));
        assert_eq!(*lock(&bench.taken), "a long first log\nbye\n2nd\n");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_log_that_ray_cannot_give_ends_with_the_reason() {
        let (mut bench, texts, following) = running("step 1\n").await;
        lock(&texts).clear();
        bench.becomes("Complete", "one", "SUCCEEDED");
        following.await.unwrap();
        let told =
            "\n[squadron: the log, or its end, could not be read from Ray: the dashboard answered 503: ";
        assert!(lock(&bench.taken).starts_with(&format!("step 1\n{told}")), "{}", lock(&bench.taken));
        let traceback = b"Traceback\n  File x\nUnicodeDecodeError: 'utf-8' codec can't decode byte 0xff\n\n";
        assert_eq!(last_line(traceback), "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff");
    }

    #[test]
    fn a_long_log_ends_with_a_note_that_is_written_once() {
        let note = String::from_utf8(CUT.to_vec()).unwrap();
        assert_eq!(new_bytes("0123456789", true, 4), format!("456789{note}").into_bytes());
        assert_eq!(new_bytes("0123456789", true, 10), CUT);
        assert_eq!(new_bytes("0123456789", true, 10 + CUT.len() as u64), b"");
        assert_eq!(new_bytes("0123456789", false, 4), b"456789");
        assert_eq!(new_bytes("0123456789", false, 40), b"");
    }
}
