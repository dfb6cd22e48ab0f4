//! Quantity: Kubernetes' resource quantities as exact integers.
//!
//! Source: the `Quantity` grammar of apimachinery. Rounds up, as the scheduler does; refuses what it cannot hold.

/// Why a text is no quantity that can be counted; at most 40 characters of the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadQuantity {
    #[error("{0:?} is no Kubernetes quantity (examples: 500m, 2, 1.5Gi)")]
    NoQuantity(String),
    #[error("{0:?} is more than can be counted")]
    TooGreat(String),
}

/// `text` in thousandths, rounded up: `"1.5"` is 1500, `"100m"` is 100.
pub fn milli(text: &str) -> Result<i64, BadQuantity> {
    scaled(text, 1_000)
}

/// `text` in whole units, rounded up: `"1Gi"` is 1073741824, `"100m"` is 1.
pub fn whole(text: &str) -> Result<i64, BadQuantity> {
    scaled(text, 1)
}

/// `value × scale`, rounded away from zero for positive values.
fn scaled(text: &str, scale: i128) -> Result<i64, BadQuantity> {
    let shown = || text.chars().take(40).collect();
    let (bad, great) = (|| BadQuantity::NoQuantity(shown()), || BadQuantity::TooGreat(shown()));
    let split = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let (digits, decimals) = decimal(number).ok_or_else(bad)?;
    let (multiplier, divisor) =
        suffix_ratio(suffix).ok_or_else(|| if is_great_exponent(suffix) { great() } else { bad() })?;
    let numerator =
        digits.checked_mul(multiplier).and_then(|value| value.checked_mul(scale)).ok_or_else(great)?;
    let denominator =
        10_i128.checked_pow(decimals).and_then(|ten| ten.checked_mul(divisor)).ok_or_else(great)?;
    let rounded_up = numerator.div_euclid(denominator) + i128::from(numerator.rem_euclid(denominator) != 0);
    i64::try_from(rounded_up).map_err(|_| great())
}

/// Digits without the point, and how many of them stand behind it.
fn decimal(number: &str) -> Option<(i128, u32)> {
    let unsigned = number.strip_prefix(['+', '-']).unwrap_or(number);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || digits.len() > 30 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value: i128 = digits.parse().ok()?;
    let decimals = u32::try_from(fraction.len()).ok()?;
    Some((if number.starts_with('-') { -value } else { value }, decimals))
}

fn suffix_ratio(suffix: &str) -> Option<(i128, i128)> {
    let power = |base: i128, exponent: u32| Some((base.pow(exponent), 1));
    match suffix {
        "n" => Some((1, 1_000_000_000)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1_000)),
        "" => Some((1, 1)),
        "k" => power(1_000, 1),
        "M" => power(1_000, 2),
        "G" => power(1_000, 3),
        "T" => power(1_000, 4),
        "P" => power(1_000, 5),
        "E" => power(1_000, 6),
        "Ki" => power(1_024, 1),
        "Mi" => power(1_024, 2),
        "Gi" => power(1_024, 3),
        "Ti" => power(1_024, 4),
        "Pi" => power(1_024, 5),
        "Ei" => power(1_024, 6),
        _ => exponent_ratio(suffix),
    }
}

/// The exponent of a number that is greater than all that can be counted.
fn is_great_exponent(suffix: &str) -> bool {
    suffix.strip_prefix(['e', 'E']).is_some_and(|exponent| exponent.parse::<u32>().is_ok())
}

/// `e3`, `E-2`: a decimal exponent instead of a suffix.
fn exponent_ratio(suffix: &str) -> Option<(i128, i128)> {
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let ten = 10_i128.checked_pow(exponent.unsigned_abs()).filter(|_| exponent.abs() <= 18)?;
    Some(if exponent < 0 { (1, ten) } else { (ten, 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_mean_what_kubernetes_says() {
        for (text, expected) in
            [("1.5", 1_500), ("100m", 100), ("2", 2_000), ("1k", 1_000_000), ("1e3", 1_000_000)]
        {
            assert_eq!(milli(text), Ok(expected), "{text}");
        }
        assert_eq!(whole("1.5Gi"), Ok(1_610_612_736));
        assert_eq!(whole("128974848000m"), Ok(128_974_848));
    }

    #[test]
    fn fractions_round_up_as_the_scheduler_counts() {
        assert_eq!(milli("0.0001"), Ok(1));
        assert_eq!(whole("100m"), Ok(1));
    }

    #[test]
    fn nonsense_and_overflow_are_refused() {
        for text in ["", "1.2.3", "Gi", "1Qi", "9999999999999999999999Ei", "1e99", "--1"] {
            assert!(whole(text).is_err(), "{text}");
        }
        for text in ["99999999999999999999", "64Ei", "1e19", "1e99"] {
            assert_eq!(whole(text), Err(BadQuantity::TooGreat(text.to_owned())));
        }
        assert_eq!(whole("1e-99"), Err(BadQuantity::NoQuantity("1e-99".to_owned())));
    }
}
