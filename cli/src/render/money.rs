//! Money: decimals of the API with their thousands set apart. Never computed here.

/// `1234567.50` as `1,234,567.50`. What is no plain decimal stays as it is.
pub fn grouped(decimal: &str) -> String {
    let (sign, unsigned) = decimal.strip_prefix('-').map_or(("", decimal), |rest| ("-", rest));
    let (whole, fraction) = unsigned.split_once('.').map_or((unsigned, None), |(w, f)| (w, Some(f)));
    let digits_only = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits_only(whole) || fraction.is_some_and(|text| !digits_only(text)) {
        return decimal.to_owned();
    }
    let fraction = fraction.map(|text| format!(".{text}")).unwrap_or_default();
    format!("{sign}{}{fraction}", thousands(whole))
}

/// The same, but what is not nothing and rounds to it is `<0.01`, in the smallest step that the amount shows.
pub fn little(decimal: &str, exact: &str) -> String {
    let zero = |text: &str| text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    match decimal.strip_suffix('0') {
        Some(rest) if zero(rest) && !exact.is_empty() && !zero(exact) => format!("<{rest}1"),
        _ => grouped(decimal),
    }
}

fn thousands(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{grouped, little};

    #[test]
    fn little_money_never_looks_like_none() {
        let all = [("0.00", "17"), ("0.00", "0"), ("0", "5"), ("0.10", "9"), ("1000.00", "9"), ("0.00", "")];
        let shown = all.map(|(decimal, exact)| little(decimal, exact)).join(" | ");
        assert_eq!(shown, "<0.01 | 0.00 | <1 | 0.10 | 1,000.00 | 0.00");
    }

    #[test]
    fn thousands_are_set_apart_and_nothing_else_changes() {
        let all = ["0.00", "999.10", "1000", "-1234567.5", "", "n/a", "12.3.4"].map(grouped);
        assert_eq!(all.join(" | "), "0.00 | 999.10 | 1,000 | -1,234,567.5 |  | n/a | 12.3.4");
    }
}
