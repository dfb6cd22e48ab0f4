//! Reading: preferences as they are written, into types, or everything that is wrong with them.

use serde::{Deserialize, Serialize};

use super::{Pick, Preferences, pick};
use crate::sentence::{clip, list};

/// Words in one field at most.
const MOST_WORDS: usize = 16;

/// Bytes of one field at most.
const LONGEST: usize = 1_024;

/// A field of preferences, by the name that it has everywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Field {
    Prefer,
    Avoid,
    Data,
    Spread,
    Residency,
    MaxPrice,
    Spot,
}

impl Field {
    /// All of them, in the order in which they are read.
    pub const ALL: [Field; 7] = [
        Field::Prefer,
        Field::Avoid,
        Field::Data,
        Field::Spread,
        Field::Residency,
        Field::MaxPrice,
        Field::Spot,
    ];

    /// The word of the flag and of the annotation: `max-price`.
    pub fn word(self) -> &'static str {
        match self {
            Field::Prefer => "prefer",
            Field::Avoid => "avoid",
            Field::Data => "data",
            Field::Spread => "spread",
            Field::Residency => "residency",
            Field::MaxPrice => "max-price",
            Field::Spot => "spot",
        }
    }

    /// The annotation of a manifest: `squadron.dev/max-price`.
    pub fn annotation(self) -> String {
        format!("squadron.dev/{}", self.word())
    }
}

/// Preferences as they are written; an absent or empty one says nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Texts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avoid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_price: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spot: Option<String>,
}

/// One thing that is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: {problem}", .field.word())]
pub struct Fault {
    pub field: Field,
    /// A clause with the value: what is wrong, and what would be right.
    pub problem: String,
}

impl Texts {
    /// The text of a field.
    pub fn get(&self, field: Field) -> &str {
        let text = match field {
            Field::Prefer => &self.prefer,
            Field::Avoid => &self.avoid,
            Field::Data => &self.data,
            Field::Spread => &self.spread,
            Field::Residency => &self.residency,
            Field::MaxPrice => &self.max_price,
            Field::Spot => &self.spot,
        };
        text.as_deref().unwrap_or_default()
    }

    /// Sets the text of a field.
    pub fn set(&mut self, field: Field, text: String) {
        let place = match field {
            Field::Prefer => &mut self.prefer,
            Field::Avoid => &mut self.avoid,
            Field::Data => &mut self.data,
            Field::Spread => &mut self.spread,
            Field::Residency => &mut self.residency,
            Field::MaxPrice => &mut self.max_price,
            Field::Spot => &mut self.spot,
        };
        *place = Some(text);
    }

    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Texts::default()
    }

    /// These, and for what they do not say, the others. A blank text says nothing, so it takes no rule away.
    #[must_use]
    pub fn over(self, others: Texts) -> Texts {
        let said = |one: Option<String>, other| one.filter(|text| !text.trim().is_empty()).or(other);
        Texts {
            prefer: said(self.prefer, others.prefer),
            avoid: said(self.avoid, others.avoid),
            data: said(self.data, others.data),
            spread: said(self.spread, others.spread),
            residency: said(self.residency, others.residency),
            max_price: said(self.max_price, others.max_price),
            spot: said(self.spot, others.spot),
        }
    }
}

/// What the texts say, or everything that is wrong with them.
pub fn read(texts: &Texts) -> Result<Preferences, Vec<Fault>> {
    let mut read = Preferences::default();
    let mut faults = Vec::new();
    for field in Field::ALL {
        let text = texts.get(field).trim();
        if text.is_empty() {
            continue;
        }
        let done = if text.len() > LONGEST {
            Err(format!("is {} bytes long; at most {LONGEST} are read", text.len()))
        } else {
            set(&mut read, field, text)
        };
        faults.extend(done.err().map(|problem| Fault { field, problem }));
    }
    if let Some(both) = read.prefer.iter().find(|pick| read.avoid.contains(pick)) {
        let problem = format!("is {both} as well as preferred; name it in one of the two");
        faults.push(Fault { field: Field::Avoid, problem });
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

fn set(read: &mut Preferences, field: Field, text: &str) -> Result<(), String> {
    match field {
        Field::Prefer => read.prefer = picks(text)?,
        Field::Avoid => read.avoid = picks(text)?,
        Field::Data => read.data = values(text, "a data set", "imagenet")?,
        Field::Residency => read.residency = values(text, "a region", "eu-west-1")?,
        Field::Spread => {
            let group = values(text, "a group of jobs", "sweep-7")?;
            read.spread = match group.as_slice() {
                [one] => one.clone(),
                several => {
                    return Err(format!("names {} groups ({}); write one", several.len(), list(several)));
                }
            };
        }
        Field::MaxPrice => {
            read.max_price = Some(text.parse().map_err(|bad: super::BadPrice| bad.to_string())?);
        }
        Field::Spot => {
            read.no_spot = match text {
                "never" => true,
                "allow" => false,
                other => return Err(format!("{:?} is not known; write never or allow", clip(other, 60))),
            };
        }
    }
    Ok(())
}

fn picks(text: &str) -> Result<Vec<Pick>, String> {
    words(text)?
        .into_iter()
        .map(|word| Pick::try_from(word.to_owned()).map_err(|bad| bad.to_string()))
        .collect()
}

fn values(text: &str, what: &str, example: &str) -> Result<Vec<String>, String> {
    let bad = |word: &str| format!("{:?} cannot be {what}; write for example {example}", clip(word, 60));
    words(text)?
        .into_iter()
        .map(|word| if pick::is_value(word) { Ok(word.to_owned()) } else { Err(bad(word)) })
        .collect()
}

/// Comma-separated words, each once.
fn words(text: &str) -> Result<Vec<&str>, String> {
    let mut words: Vec<&str> = Vec::new();
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    match words.len() {
        0 => Err("names nothing; leave it out instead".to_owned()),
        many if many > MOST_WORDS => Err(format!("names {many}; at most {MOST_WORDS} are read")),
        _ => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn texts(pairs: &[(Field, &str)]) -> Texts {
        let mut texts = Texts::default();
        for (field, text) in pairs {
            texts.set(*field, (*text).to_owned());
        }
        texts
    }

    #[test]
    fn every_field_is_read_into_its_type() {
        let read = read(&texts(&[
            (Field::Prefer, "west, region=eu-west-1, west"),
            (Field::Avoid, "east"),
            (Field::Data, "imagenet"),
            (Field::Spread, "sweep-7"),
            (Field::Residency, "eu-west-1,eu-central-1"),
            (Field::MaxPrice, "12.50 EUR"),
            (Field::Spot, "never"),
        ]))
        .unwrap();
        let west = Pick::Cluster("west".to_owned());
        let region = Pick::Label { key: "region".to_owned(), value: "eu-west-1".to_owned() };
        assert_eq!((&read.prefer[..], read.avoid.len()), (&[west, region][..], 1));
        assert_eq!((read.data.as_slice(), read.spread.as_str()), (&["imagenet".to_owned()][..], "sweep-7"));
        assert_eq!(read.residency, ["eu-west-1", "eu-central-1"]);
        assert_eq!(read.max_price.as_ref().map(ToString::to_string).as_deref(), Some("12.50 EUR"));
        assert!(read.no_spot);
        let stored = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Preferences>(&stored).unwrap(), read);
        assert_eq!(serde_json::to_string(&Preferences::default()).unwrap(), "{}");
        assert_eq!(super::read(&Texts::default()), Ok(Preferences::default()));
    }

    #[test]
    fn everything_that_is_wrong_is_told_with_field_value_and_what_to_write() {
        let many = (0..17).map(|n| format!("c{n}")).collect::<Vec<_>>().join(",");
        let long = "x".repeat(1_025);
        let faults = read(&texts(&[
            (Field::Prefer, "West"),
            (Field::Avoid, &many),
            (Field::Data, &long),
            (Field::Spread, "a, b"),
            (Field::Residency, "eu west"),
            (Field::MaxPrice, "12"),
            (Field::Spot, "Never"),
        ]))
        .unwrap_err();
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "prefer: \"West\" is neither the name of a cluster nor a label; write for example west or region=eu-west-1",
                "avoid: names 17; at most 16 are read",
                "data: is 1025 bytes long; at most 1024 are read",
                "spread: names 2 groups (a and b); write one",
                "residency: \"eu west\" cannot be a region; write for example eu-west-1",
                "max-price: \"12\" is no price for an hour; write for example 12.50 EUR, with at most 4 decimals",
                "spot: \"Never\" is not known; write never or allow",
            ]
        );
        let faults = read(&texts(&[(Field::Prefer, "west"), (Field::Avoid, "east,west")])).unwrap_err();
        assert_eq!(faults[0].to_string(), "avoid: is west as well as preferred; name it in one of the two");
        assert!(read(&texts(&[(Field::Data, " , ")])).is_err());
    }

    #[test]
    fn a_request_goes_over_the_manifest_field_by_field() {
        let manifest = texts(&[(Field::Prefer, "west"), (Field::Spot, "never")]);
        let both = texts(&[(Field::Prefer, "east")]).over(manifest);
        assert_eq!((both.get(Field::Prefer), both.get(Field::Spot)), ("east", "never"));
    }

    #[test]
    fn a_blank_text_of_a_request_takes_no_rule_of_the_manifest_away() {
        for field in Field::ALL {
            for blank in ["", " \t"] {
                let over = texts(&[(field, blank)]).over(texts(&[(field, "rule")]));
                assert_eq!(over.get(field), "rule", "{}", field.word());
            }
        }
    }
}
