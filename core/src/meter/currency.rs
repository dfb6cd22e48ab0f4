//! Currencies: ISO 4217 codes that a price sheet may name, with the digits of their minor unit.

/// Digits behind the point of an amount in `code`, or None for a code that is not known here.
pub fn minor_digits(code: &str) -> Option<u32> {
    match code {
        "JPY" | "KRW" | "VND" | "CLP" | "ISK" => Some(0),
        "EUR" | "USD" | "GBP" | "CHF" | "CNY" | "INR" | "SEK" | "NOK" | "DKK" | "PLN" | "CZK" | "HUF"
        | "RON" | "BGN" | "AUD" | "CAD" | "NZD" | "SGD" | "HKD" | "TWD" | "THB" | "MYR" | "IDR" | "PHP"
        | "BRL" | "MXN" | "COP" | "PEN" | "ARS" | "ZAR" | "ILS" | "TRY" | "AED" | "SAR" | "QAR" | "EGP"
        | "NGN" | "KES" | "UAH" | "GEL" | "KZT" => Some(2),
        "KWD" | "BHD" | "OMR" | "JOD" | "TND" => Some(3),
        _ => None,
    }
}
