//! Preferences as flags: what a job says about places, in the words of the manifest's annotations.

use clap::Args;
use squadron_core::preference::{Field, Texts, read};

/// Each goes over the manifest's annotation of the same name.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Places")]
pub struct PreferArgs {
    /// Clusters that it would rather have, the best first: names, or labels as region=eu-west-1
    #[arg(long, value_name = "PLACE,…", value_parser = |text: &str| checked(Field::Prefer, text))]
    prefer: Option<String>,
    /// Clusters that it takes only if there is no other
    #[arg(long, value_name = "PLACE,…", value_parser = |text: &str| checked(Field::Avoid, text))]
    avoid: Option<String>,
    /// Data sets that it reads; it would rather be near them
    #[arg(long, value_name = "NAME,…", value_parser = |text: &str| checked(Field::Data, text))]
    data: Option<String>,
    /// Jobs of its queue with the same group go to different clusters if they can
    #[arg(long, value_name = "GROUP", value_parser = |text: &str| checked(Field::Spread, text))]
    spread: Option<String>,
    /// The only regions that it may run in
    #[arg(long, value_name = "REGION,…", value_parser = |text: &str| checked(Field::Residency, text))]
    residency: Option<String>,
    /// Most that it may cost an hour with its minimum of workers, as \"12.50 EUR\"
    #[arg(long, value_name = "PRICE", value_parser = |text: &str| checked(Field::MaxPrice, text))]
    max_price: Option<String>,
    /// Whether it may run on nodes that can be taken away at any time: never or allow [default: allow]
    #[arg(long, value_name = "WORD", value_parser = |text: &str| checked(Field::Spot, text))]
    spot: Option<String>,
}

impl PreferArgs {
    /// As requests carry them.
    pub fn texts(&self) -> Texts {
        let PreferArgs { prefer, avoid, data, spread, residency, max_price, spot } = self.clone();
        Texts { prefer, avoid, data, spread, residency, max_price, spot }
    }
}

/// The text as it is, if the server could read it.
fn checked(field: Field, text: &str) -> Result<String, String> {
    let mut texts = Texts::default();
    texts.set(field, text.to_owned());
    match read(&texts) {
        Ok(_) => Ok(text.to_owned()),
        Err(faults) => Err(faults.into_iter().map(|fault| fault.problem).collect::<Vec<_>>().join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_refused_in_the_words_of_the_server() {
        assert_eq!(checked(Field::Spot, "never"), Ok("never".to_owned()));
        assert_eq!(checked(Field::Spot, "no"), Err("\"no\" is not known; write never or allow".to_owned()));
    }
}
