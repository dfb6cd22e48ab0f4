//! Marks: what fencer and agent write into their Lease objects for each other.
//!
//! Invariant: the agent repeats a mark word by word, so only the fencer knows what it means; a mark names the boot of the
//! machine and the life of the fencer that left it, because no clock is compared with another's and no number of one life
//! means anything to the next.

use std::{fmt, str::FromStr};

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use squadron_core::lease::{LeaseObject, Terms, Tick};

use super::note::Note;

/// Name of the fencer's Lease.
pub const FENCER: &str = "squadron-fencer";
/// Annotation of the fencer's Lease: its newest mark.
pub const MARK: &str = "squadron.dev/fencer-mark";
/// Annotation of the fencer's Lease: the attempts that it stopped.
pub const STOPPED: &str = "squadron.dev/fencer-stopped";
/// Annotation of the agent's Lease: the newest mark that it had read before it looked at its clock.
pub const ECHO: &str = "squadron.dev/fencer-echo";
/// Annotation of the agent's Lease: milliseconds that the lease had left then.
pub const LEFT: &str = "squadron.dev/lease-left-ms";
/// Annotation of the agent's Lease: the length of the lease in milliseconds.
pub const LENGTH: &str = "squadron.dev/lease-ms";
/// Annotation of the agent's Lease: renewals of this cluster's lives that the control plane answered.
pub const RENEWALS: &str = "squadron.dev/lease-renewals";

/// What the fencer left in the cluster, as the agent finds it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Left {
    pub mark: String,
    pub stopped: Note,
}

/// Reads what the fencer left; nothing where there is none.
pub async fn read(leases: &Api<Lease>) -> kube::Result<Option<Left>> {
    let found = leases.get_opt(FENCER).await?;
    Ok(found.map(|lease| Left { mark: annotation(&lease, MARK).to_owned(), stopped: stopped(&lease) }))
}

/// The attempts that a fencer's Lease says it stopped.
pub fn stopped(lease: &Lease) -> Note {
    Note::read(annotation(lease, STOPPED))
}

pub fn annotation<'a>(lease: &'a Lease, key: &str) -> &'a str {
    let annotations = lease.metadata.annotations.as_ref();
    annotations.and_then(|annotations| annotations.get(key)).map_or("", String::as_str)
}

/// One mark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    pub boot: String,
    pub life: String,
    pub number: u64,
    /// When it was made, on the clock of that boot.
    pub at: Tick,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.boot, self.life, self.number, self.at.0)
    }
}

impl FromStr for Mark {
    type Err = ();
    fn from_str(text: &str) -> Result<Mark, ()> {
        let parts: Vec<&str> = text.split('/').collect();
        let [boot, life, number, at] = parts.as_slice() else { return Err(()) };
        let number = number.parse().map_err(|_| ())?;
        let at = Tick(at.parse().map_err(|_| ())?);
        Ok(Mark { boot: (*boot).to_owned(), life: (*life).to_owned(), number, at })
    }
}

/// What the agent's Lease says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    pub echo: Option<Mark>,
    pub left: u64,
    /// Length of the lease in milliseconds.
    pub length: u64,
}

impl Told {
    pub fn read(lease: &Lease) -> Told {
        let number = |key: &str| annotation(lease, key).parse().ok();
        Told {
            echo: annotation(lease, ECHO).parse().ok(),
            left: number(LEFT).unwrap_or(0),
            length: number(LENGTH).unwrap_or(Terms::default().ttl),
        }
    }

    /// For the life of the fencer that left the mark; nothing for another.
    pub fn for_life(&self, boot: &str, life: &str) -> Option<LeaseObject> {
        let echo = self.echo.as_ref().filter(|echo| echo.boot == boot && echo.life == life)?;
        Some(LeaseObject { echo: echo.number, left: self.left })
    }

    /// When the lease ends, for a life that begins on the boot on which the mark was left.
    pub fn ends(&self, boot: &str, now: Tick) -> Option<Tick> {
        let echo =
            self.echo.as_ref().filter(|echo| !boot.is_empty() && echo.boot == boot && echo.at <= now)?;
        Some(echo.at.plus(self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(mark: &str, left: u64) -> Told {
        Told { echo: mark.parse().ok(), left, length: 60_000 }
    }

    #[test]
    fn a_mark_means_something_to_its_own_life_only() {
        let told = told("b/one/7/5000", 9_000);
        assert_eq!(told.for_life("b", "one"), Some(LeaseObject { echo: 7, left: 9_000 }));
        assert_eq!((told.for_life("b", "two"), told.for_life("c", "one")), (None, None));
    }

    #[test]
    fn the_next_life_on_the_same_boot_knows_the_end() {
        let told = told("b/one/7/5000", 9_000);
        assert_eq!(told.ends("b", Tick(6_000)), Some(Tick(14_000)));
        assert_eq!(told.ends("c", Tick(6_000)), None, "another clock");
        assert_eq!(told.ends("b", Tick(4_000)), None, "not made yet");
        assert_eq!(self::told("nonsense", 1).ends("b", Tick(1)), None);
    }

    #[test]
    fn a_mark_survives_its_text() {
        let mark = Mark { boot: "b-1".into(), life: "uid".into(), number: 3, at: Tick(9) };
        assert_eq!(mark.to_string().parse(), Ok(mark));
    }
}
