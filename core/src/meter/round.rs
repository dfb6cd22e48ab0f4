//! Rounding: exact values to decimals whose rows still sum to their total.

use crate::meter::{TooLarge, amount::PER_WHOLE};

/// Amount units in one unit of the currency.
pub const AMOUNT_UNIT: i128 = 10_000_000_000 * MS_PER_HOUR * PER_WHOLE;
const MS_PER_HOUR: i128 = 3_600_000;

/// A column of a report: what one whole unit is worth, and how many decimals are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    unit: i128,
    digits: u32,
}

impl Column {
    pub const CPU_HOURS: Column = Column { unit: 1_000 * MS_PER_HOUR, digits: 6 };
    pub const MEMORY_GIB_HOURS: Column = Column { unit: (1 << 30) * MS_PER_HOUR, digits: 6 };
    pub const GPU_HOURS: Column = Column { unit: MS_PER_HOUR, digits: 6 };

    /// Money with the minor digits of its currency.
    pub fn money(minor_digits: u32) -> Column {
        Column { unit: AMOUNT_UNIT, digits: minor_digits }
    }

    /// Exact, non-negative values as decimals, and their total, rounded once (half to even). The rows sum to the total:
    /// each is rounded down, and what is missing goes to the largest remainders, the earlier row first.
    pub fn apportion(self, values: &[i128]) -> Result<(Vec<String>, String), TooLarge> {
        let sum = values.iter().try_fold(0_i128, |sum, value| sum.checked_add(*value)).ok_or(TooLarge)?;
        let (scale, unit) = self.reduced();
        let scaled = |value: i128| value.checked_mul(scale).ok_or(TooLarge);
        let total = half_even(scaled(sum)?, unit);
        let scaled_rows = values.iter().map(|value| scaled(*value)).collect::<Result<Vec<_>, _>>()?;
        let mut rows: Vec<i128> = scaled_rows.iter().map(|value| value.div_euclid(unit)).collect();
        let missing = usize::try_from(total - rows.iter().sum::<i128>()).unwrap_or(0);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|index| (std::cmp::Reverse(scaled_rows[*index].rem_euclid(unit)), *index));
        for index in order.into_iter().take(missing) {
            rows[index] += 1;
        }
        Ok((rows.iter().map(|row| decimals(*row, self.digits)).collect(), decimals(total, self.digits)))
    }

    /// `10^digits / unit` in lowest terms.
    fn reduced(self) -> (i128, i128) {
        let scale = 10_i128.pow(self.digits);
        let common = gcd(scale, self.unit);
        (scale / common, self.unit / common)
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn half_even(value: i128, unit: i128) -> i128 {
    let (floor, rest) = (value.div_euclid(unit), value.rem_euclid(unit));
    let up = match (rest * 2).cmp(&unit) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => floor % 2 != 0,
        std::cmp::Ordering::Less => false,
    };
    floor + i128::from(up)
}

/// `12345` with 2 digits is `123.45`.
pub fn decimals(value: i128, digits: u32) -> String {
    let scale = 10_u128.pow(digits);
    let (sign, size) = (if value < 0 { "-" } else { "" }, value.unsigned_abs());
    if digits == 0 {
        return format!("{sign}{size}");
    }
    format!("{sign}{}.{:0width$}", size / scale, size % scale, width = digits as usize)
}
