//! Metadata: the keys by which a submission chooses queue, place, image and size.
//!
//! Owns the names under `squadron.dev/` and the one word `queue`. Invariant: an unknown key under our prefix is refused
//! with the one that was probably meant; every other key is the user's own.

use std::collections::BTreeMap;

use serde_json::Value;
use squadron_core::{
    nearest::nearest,
    preference::{Field, Texts, read},
    quantity,
};

use super::Submission;
use crate::{manifest::FieldError, validate};

/// Ray's own key for the name that its dashboard shows.
pub(super) const JOB_NAME: &str = "job_name";
const PREFIX: &str = "squadron.dev/";
/// Beside the names of preferences.
const KEYS: [&str; 11] = [
    "queue",
    "cluster",
    "namespace",
    "image",
    "workers",
    "worker-cpus",
    "worker-memory",
    "worker-gpus",
    "head-cpus",
    "head-memory",
    "head-gpus",
];
/// Workers that one submission may ask for: a job has 5,000 pods at most, and one is the head.
const MOST_WORKERS: u32 = 4_999;
const MOST_GPUS: u32 = 64;

/// What a submission's metadata chose; everything else comes from the template.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Choices {
    pub queue: Option<String>,
    pub cluster: Option<String>,
    pub namespace: Option<String>,
    pub image: Option<String>,
    pub workers: Option<u32>,
    pub worker: Size,
    pub head: Size,
    /// They can be read.
    pub preferences: Texts,
}

/// What one pod's Ray container asks for, as Kubernetes quantities.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Size {
    pub cpus: Option<String>,
    pub memory: Option<String>,
    pub gpus: Option<u32>,
}

impl Size {
    pub(super) fn is_empty(&self) -> bool {
        *self == Size::default()
    }
}

/// Reads the choices; every key that is wrong is reported.
pub fn choices(submission: &Submission) -> Result<Choices, Vec<FieldError>> {
    let none = BTreeMap::new();
    let metadata = submission.metadata.as_ref().unwrap_or(&none);
    let mut reader = Reader { metadata, found: unknown(metadata) };
    let choices = Choices {
        queue: reader.text("queue").or_else(|| metadata.get("queue").cloned()),
        cluster: reader.text("cluster"),
        namespace: reader.text("namespace"),
        image: reader.text("image"),
        workers: reader.number("workers", MOST_WORKERS),
        worker: reader.size("worker"),
        head: reader.size("head"),
        preferences: reader.preferences(),
    };
    reader.check_texts(&choices);
    if reader.found.is_empty() { Ok(choices) } else { Err(reader.found) }
}

fn unknown(metadata: &BTreeMap<String, String>) -> Vec<FieldError> {
    let ours = metadata.keys().filter_map(|key| key.strip_prefix(PREFIX));
    let known: Vec<&str> = KEYS.into_iter().chain(Field::ALL.map(Field::word)).collect();
    let strange = ours.filter(|key| !known.contains(key));
    strange
        .map(|key| {
            let key: String = key.chars().take(60).collect();
            let hint = match nearest(&key, known.iter().copied()) {
                Some(near) => format!("did you mean {PREFIX}{near}?"),
                None => format!("known keys: {PREFIX}{{{}}}", known.join(", ")),
            };
            error(&key, &format!("is no key that Squadron knows; {hint}"))
        })
        .collect()
}

fn error(key: &str, problem: &str) -> FieldError {
    FieldError { path: format!("metadata[\"{PREFIX}{key}\"]"), problem: problem.to_owned() }
}

struct Reader<'a> {
    metadata: &'a BTreeMap<String, String>,
    found: Vec<FieldError>,
}

impl Reader<'_> {
    fn text(&self, key: &str) -> Option<String> {
        self.metadata.get(&format!("{PREFIX}{key}")).cloned()
    }

    fn number(&mut self, key: &str, most: u32) -> Option<u32> {
        let text = self.text(key)?;
        let number = text.parse::<u32>().ok().filter(|number| *number <= most);
        if number.is_none() {
            self.found.push(error(key, &format!("must be a whole number from 0 to {most}")));
        }
        number
    }

    fn size(&mut self, whose: &str) -> Size {
        let (cpus, memory) = (format!("{whose}-cpus"), format!("{whose}-memory"));
        Size {
            cpus: self.quantity(
                &cpus,
                quantity::milli,
                "must be a positive amount of cores, for example 2 or 500m",
            ),
            memory: self.quantity(
                &memory,
                quantity::whole,
                "must be a positive amount of memory, for example 4Gi",
            ),
            gpus: self.number(&format!("{whose}-gpus"), MOST_GPUS),
        }
    }

    fn quantity(
        &mut self,
        key: &str,
        read: fn(&str) -> Result<i64, quantity::BadQuantity>,
        rule: &str,
    ) -> Option<String> {
        let text = self.text(key)?;
        if read(&text).is_ok_and(|amount| amount > 0) {
            return Some(text);
        }
        self.found.push(error(key, rule));
        None
    }

    /// Read by the same code as annotations. One that is blank is refused, so that no rule is missing by an oversight.
    fn preferences(&mut self) -> Texts {
        let mut texts = Texts::default();
        for field in Field::ALL {
            match self.text(field.word()) {
                Some(text) if text.trim().is_empty() => {
                    self.found.push(error(field.word(), "is empty; leave it out or say something"));
                }
                Some(text) => texts.set(field, text),
                None => {}
            }
        }
        let faults = read(&texts).err().unwrap_or_default();
        self.found.extend(faults.iter().map(|fault| error(fault.field.word(), &fault.problem)));
        texts
    }

    fn check_texts(&mut self, choices: &Choices) {
        let image = choices.image.as_deref();
        if image.is_some_and(|image| {
            image.is_empty() || image.len() > 500 || !image.bytes().all(|b| b.is_ascii_graphic())
        }) {
            self.found
                .push(error("image", "must be the address of an image, for example rayproject/ray:2.60.0"));
        }
        for (key, text) in
            [("queue", &choices.queue), ("cluster", &choices.cluster), ("namespace", &choices.namespace)]
        {
            if text.as_deref().is_some_and(str::is_empty) {
                self.found.push(error(key, "is empty; leave it out or name one"));
            }
        }
        let labels = validate::is_label("k", choices.namespace.as_deref().unwrap_or_default());
        if !labels {
            self.found.push(error("namespace", "is no name of a Kubernetes namespace"));
        }
    }
}

/// Metadata as Ray answers it.
pub(super) fn value(metadata: Option<&str>) -> Value {
    metadata.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
}
