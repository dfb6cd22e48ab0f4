//! Maximum price: what a job may cost an hour, as a decimal with its currency.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{meter::minor_digits, sentence::clip};

/// Decimals that are kept.
const DECIMALS: usize = 4;
/// Most that can be allowed, in the currency.
const MOST: i64 = 10_000_000;

/// An amount for an hour. Written as `12.50 EUR`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct MaxPrice {
    /// In 10⁻⁴ of the currency.
    pub amount: i64,
    /// ISO 4217.
    pub currency: String,
}

/// A text that is no price.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text:?} is no price for an hour; write for example 12.50 EUR, with at most 4 decimals")]
pub struct BadPrice {
    text: String,
}

impl FromStr for MaxPrice {
    type Err = BadPrice;

    fn from_str(text: &str) -> Result<MaxPrice, BadPrice> {
        let bad = || BadPrice { text: clip(text, 60) };
        let (number, currency) = text.trim().split_once(' ').ok_or_else(bad)?;
        let currency = currency.trim();
        let known = minor_digits(currency).is_some();
        let amount = amount(number).filter(|_| known).ok_or_else(bad)?;
        Ok(MaxPrice { amount, currency: currency.to_owned() })
    }
}

/// In 10⁻⁴ of the currency.
fn amount(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || text.ends_with('.') {
        return None;
    }
    if fraction.len() > DECIMALS {
        return None;
    }
    let scaled: i64 = format!("{whole}{fraction:0<DECIMALS$}").parse().ok()?;
    (scaled <= MOST * 10_000).then_some(scaled)
}

/// An amount in 10⁻⁴ of the currency as people read it: at least two decimals, `12.50 EUR`.
pub fn shown(amount: i64, currency: &str) -> String {
    let text = format!("{}.{:04}", amount / 10_000, (amount % 10_000).abs());
    let short = text.strip_suffix("00").or_else(|| text.strip_suffix('0')).unwrap_or(&text);
    format!("{short} {currency}")
}

impl fmt::Display for MaxPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(self.amount, &self.currency))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn prices_are_exact_and_come_back() {
        for (text, amount, back) in [
            ("12.50 EUR", 125_000, "12.50 EUR"),
            ("3 USD", 30_000, "3.00 USD"),
            ("0.0315 EUR", 315, "0.0315 EUR"),
            ("0.125 EUR", 1_250, "0.125 EUR"),
            ("0 EUR", 0, "0.00 EUR"),
        ] {
            let price: MaxPrice = text.parse().unwrap();
            assert_eq!((price.amount, price.to_string().as_str()), (amount, back));
        }
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for text in [
            "",
            "12",
            "EUR",
            "12 XXY",
            "-1 EUR",
            "1. EUR",
            ".5 EUR",
            "1e3 EUR",
            "0.00001 EUR",
            "1,5 EUR",
            "99999999 EUR",
        ] {
            assert!(text.parse::<MaxPrice>().is_err(), "{text}");
        }
    }
}
