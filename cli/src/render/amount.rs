//! Amounts of CPU, memory and GPUs with their units.

use squadron_core::resources::Resources;

/// Cores with up to three decimals and no trailing zeros: `3`, `0.5`.
pub fn cores(milli: i64) -> String {
    let text = format!(
        "{}{}.{:03}",
        if milli < 0 { "-" } else { "" },
        milli.unsigned_abs() / 1_000,
        milli.unsigned_abs() % 1_000
    );
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bytes in binary units with one decimal: `512 MiB`, `6.5 GiB`.
pub fn memory(bytes: i64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let magnitude = bytes.unsigned_abs();
    let sign = if bytes < 0 { "-" } else { "" };
    let power = (1..UNITS.len()).rev().find(|power| magnitude >= 1 << (10 * power)).unwrap_or(0);
    let tenths = (u128::from(magnitude) * 10) >> (10 * power);
    match tenths % 10 {
        0 => format!("{sign}{} {}", tenths / 10, UNITS[power]),
        decimal => format!("{sign}{}.{decimal} {}", tenths / 10, UNITS[power]),
    }
}

/// `3 CPU, 6 GiB, 2 GPU`; GPUs are left out where there are none.
pub fn resources(amount: Resources) -> String {
    let gpus = if amount.gpus == 0 { String::new() } else { format!(", {} GPU", amount.gpus) };
    format!("{} CPU, {}{gpus}", cores(amount.cpu_milli), memory(amount.memory_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_carry_units_and_no_noise() {
        assert_eq!([0, 500, 3_000, 1_250, -250].map(cores).join(" "), "0 0.5 3 1.25 -0.25");
        assert_eq!(
            [0, 1_023, 512 << 20, 6_979_321_856, -(1 << 30)].map(memory).join(", "),
            "0 B, 1023 B, 512 MiB, 6.5 GiB, -1 GiB"
        );
        let gang = Resources { cpu_milli: 3_000, memory_bytes: 6 << 30, gpus: 2 };
        assert_eq!(resources(gang), "3 CPU, 6 GiB, 2 GPU");
    }
}
