//! Sentences: pieces that every decider's sentences are made of.
//!
//! Owns how numbers, amounts and foreign text read. Invariant: text from outside comes out on one line, without control
//! characters and no longer than asked, so that it can stand inside a sentence of ours.

use crate::{resources::Resources, time::Timestamp};

/// Foreign text on one line, at most `max` characters; `…` marks what was cut.
pub fn clip(text: &str, max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean: String = line.chars().filter(|c| !c.is_control()).collect();
    if clean.chars().count() <= max {
        return clean;
    }
    let head: String = clean.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}

/// `1 job`, `2 jobs`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `1st`, `2nd`, `3rd`, `11th`.
pub fn ordinal(number: u32) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

/// An amount as people read it: `1.5 cores, 2 GiB, 1 GPU`. GPUs are left out when there are none.
pub fn amount(resources: Resources) -> String {
    let mut parts = vec![cores(resources.cpu_milli), memory(resources.memory_bytes)];
    if resources.gpus != 0 {
        parts.push(gpus(resources.gpus));
    }
    parts.join(", ")
}

/// `1 core`, `1.5 cores`.
pub fn cores(milli: i64) -> String {
    let noun = if milli == 1_000 { "core" } else { "cores" };
    format!("{} {noun}", decimal(i128::from(milli), 1_000, 3))
}

/// `512 MiB`, `1.5 GiB`; rounded down to a tenth.
pub fn memory(bytes: i64) -> String {
    const MIB: i128 = 1 << 20;
    const GIB: i128 = 1 << 30;
    let bytes = i128::from(bytes);
    if bytes.abs() >= GIB {
        format!("{} GiB", decimal(bytes, GIB, 1))
    } else {
        format!("{} MiB", decimal(bytes, MIB, 1))
    }
}

/// `1 GPU`, `8 GPUs`.
pub fn gpus(number: i64) -> String {
    if number == 1 { "1 GPU".to_owned() } else { format!("{number} GPUs") }
}

/// How long, in the two largest units: `45 s`, `3 m 20 s`, `2 h 5 m`, `3 d 4 h`.
pub fn duration(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.millis_since(from).max(0) / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} m {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

/// A point in time to the second: `2026-11-29T15:00:00Z`.
pub fn when(at: Timestamp) -> String {
    Timestamp(at.0.div_euclid(1_000_000).saturating_mul(1_000_000)).to_string()
}

/// `value / unit` with at most `digits` decimals, rounded toward zero, without trailing zeros.
fn decimal(value: i128, unit: i128, digits: u32) -> String {
    let scale = 10_i128.pow(digits);
    let scaled = value * scale / unit;
    let sign = if scaled < 0 { "-" } else { "" };
    let (whole, rest) = (scaled.abs() / scale, scaled.abs() % scale);
    let text = format!("{sign}{whole}.{rest:0width$}", width = digits as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_as_people_say_them() {
        let asked = Resources { cpu_milli: 1_500, memory_bytes: 2 << 30, gpus: 1 };
        assert_eq!(amount(asked), "1.5 cores, 2 GiB, 1 GPU");
        assert_eq!(
            amount(Resources { cpu_milli: 1_000, memory_bytes: 300 << 20, gpus: 0 }),
            "1 core, 300 MiB"
        );
        assert_eq!(cores(-250), "-0.25 cores");
    }

    #[test]
    fn foreign_text_stays_on_one_line_and_short() {
        assert_eq!(clip("Traceback\n  File \u{7}x", 80), "Traceback File x");
        assert_eq!(clip("abcdef", 4), "abc…");
    }

    #[test]
    fn durations_lists_and_ordinals() {
        assert_eq!(duration(Timestamp(0), Timestamp(200_000_000)), "3 m 20 s");
        assert_eq!(duration(Timestamp(5), Timestamp(0)), "0 s");
        assert_eq!([1, 2, 3, 4, 11, 22].map(ordinal).join(" "), "1st 2nd 3rd 4th 11th 22nd");
        assert_eq!(list(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        assert_eq!(when(Timestamp(1_796_000_000_999_999)), "2026-11-30T00:53:20Z");
    }
}
