//! Lives of containers, as they wrote them down themselves: who ran when, whether two of one job ran at once, and how long
//! nobody did.
//!
//! Invariant: a life reaches from the first time that its container wrote to the last, so it is never longer than the
//! container lived, and shorter by a tenth of a second at each end on a machine that keeps up. Whoever the control plane
//! believes to run plays no part.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use anyhow::{Context, Result};

/// A container that has not written for so long, in seconds, is over; a machine that is slow may come close to it.
const SILENT: f64 = 3.0;
/// Bytes that are read at each end of a file: some lines.
const PART: u64 = 64;
/// How long the file of a life that is over is kept, in seconds.
const KEPT: f64 = 300.0;

/// One container's life, in seconds since 1970.
#[derive(Clone, PartialEq, Debug)]
pub struct Life {
    pub job: String,
    pub attempt: u32,
    /// Where it ran.
    pub cluster: String,
    pub pod: String,
    pub from: f64,
    /// When it wrote last.
    pub to: f64,
}

impl Life {
    pub fn is_over(&self, now: f64) -> bool {
        now - self.to > SILENT
    }
}

/// All lives in the folder that the containers write to, by their begin.
pub fn all(folder: &Path) -> Result<Vec<Life>> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut lives = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        lives.extend(read(&name, &ends(&path)?));
    }
    lives.sort_by(|a: &Life, b: &Life| a.from.total_cmp(&b.from));
    number(&mut lives);
    Ok(lives)
}

/// Whoever gives its copies no numbers has 0 in them all: each pod of a job is then an attempt, in the order of their begin.
fn number(lives: &mut [Life]) {
    let mut pods: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for life in lives.iter_mut().filter(|life| life.attempt == 0) {
        let pods = pods.entry(life.job.clone()).or_default();
        let known = pods.iter().position(|pod| *pod == life.pod);
        let at = known.unwrap_or_else(|| {
            pods.push(life.pod.clone());
            pods.len() - 1
        });
        life.attempt = u32::try_from(at + 1).unwrap_or(u32::MAX);
    }
}

/// The begin and the end of a file, which may be long.
fn ends(path: &Path) -> Result<String> {
    let mut file = fs::File::open(path).with_context(|| format!("reading {}", path.display()))?;
    let length = file.metadata()?.len();
    let mut text = vec![0; usize::try_from(length.min(PART))?];
    file.read_exact(&mut text)?;
    if length > PART {
        let mut end = vec![0; usize::try_from(PART)?];
        file.seek(SeekFrom::Start(length - PART))?;
        file.read_exact(&mut end)?;
        text.push(b'\n');
        text.extend(end);
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Removes the files of lives that were over long before `now`; their rounds are written down.
pub fn prune(folder: &Path, now: f64) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if read(&name, &ends(&path)?).is_some_and(|life| now - life.to > KEPT) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// The life in a file called `JOB.ATTEMPT.NODE.POD.BEGIN`; the last line may be half written.
fn read(name: &str, text: &str) -> Option<Life> {
    let mut parts = name.split('.');
    let (job, attempt, node, pod) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let whole = text.rsplit_once('\n')?.0;
    let time = |line: Option<&str>| line?.parse::<f64>().ok();
    Some(Life {
        job: job.to_owned(),
        attempt: attempt.parse().ok()?,
        cluster: node.strip_suffix("-node").unwrap_or(node).to_owned(),
        pod: pod.to_owned(),
        from: time(whole.lines().next())?,
        to: time(whole.lines().last())?,
    })
}

/// The lives of each job.
pub fn by_job(lives: &[Life]) -> BTreeMap<&str, Vec<&Life>> {
    let mut jobs: BTreeMap<&str, Vec<&Life>> = BTreeMap::new();
    for life in lives {
        jobs.entry(&life.job).or_default().push(life);
    }
    jobs
}

/// Seconds in which two lives of one job ran at once, summed over all pairs. The lives are of one job, by their begin.
pub fn overlap(lives: &[&Life]) -> f64 {
    let pairs =
        lives.iter().enumerate().flat_map(|(at, one)| lives[at + 1..].iter().map(move |two| (one, two)));
    pairs.map(|(one, two)| (one.to.min(two.to) - one.from.max(two.from)).max(0.0)).sum()
}

/// Seconds between the end of each life and the begin of the next attempt's; negative where they overlap.
pub fn gaps(lives: &[&Life]) -> Vec<f64> {
    let later = |pair: &&[&Life]| pair[0].attempt < pair[1].attempt;
    lives.windows(2).filter(later).map(|pair| pair[1].from - pair[0].to).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn life(attempt: u32, from: f64, to: f64) -> Life {
        let text = format!("{from:.3}\n{to:.3}\n99");
        read(&format!("j1.{attempt}.rounds-a-node.head-{attempt}.0"), &text).unwrap()
    }

    #[test]
    fn a_file_tells_whose_life_it_was_and_its_half_written_line_does_not_count() {
        let life = life(2, 10.5, 12.25);
        assert_eq!((life.job.as_str(), life.attempt, life.cluster.as_str()), ("j1", 2, "rounds-a"));
        assert_eq!((life.from, life.to), (10.5, 12.25));
        assert!(life.is_over(20.0) && !life.is_over(13.0));
        assert_eq!(read("nonsense", "1\n"), None);
        assert_eq!(read("j.1.n.p.0", ""), None, "it has not written yet");
    }

    #[test]
    fn copies_without_a_number_are_numbered_by_their_begin_and_others_keep_theirs() {
        let one = |job: &str, attempt: u32, pod: &str, from: f64| Life {
            job: job.into(),
            attempt,
            cluster: "a".into(),
            pod: pod.into(),
            from,
            to: from + 1.0,
        };
        let mut lives = [
            one("j", 0, "p", 1.0),
            one("k", 7, "x", 2.0),
            one("j", 0, "q", 3.0),
            one("j", 0, "p", 4.0),
            one("l", 0, "p", 5.0),
        ];
        number(&mut lives);
        assert_eq!(lives.map(|life| life.attempt), [1, 7, 2, 1, 1]);
    }

    #[test]
    fn lives_one_after_another_have_a_gap_and_no_overlap() {
        let (one, two, three) = (life(1, 0.0, 10.0), life(2, 12.5, 20.0), life(3, 21.0, 22.0));
        let lives = [&one, &two, &three];
        assert_eq!(overlap(&lives), 0.0);
        assert_eq!(gaps(&lives), [2.5, 1.0]);
    }

    #[test]
    fn two_copies_at_once_are_counted_in_seconds_also_behind_a_life_between() {
        let (one, two, three) = (life(1, 0.0, 10.0), life(2, 8.0, 9.0), life(3, 9.5, 20.0));
        assert_eq!(overlap(&[&one, &two, &three]), 1.5);
        assert_eq!(gaps(&[&one, &two]), [-2.0]);
    }

    #[test]
    fn a_container_that_started_anew_within_its_attempt_has_no_gap_of_attempts() {
        let (one, again) = (life(1, 0.0, 10.0), life(1, 11.0, 12.0));
        assert_eq!((gaps(&[&one, &again]), overlap(&[&one, &again])), (vec![], 0.0));
    }
}
