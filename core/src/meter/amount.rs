//! Amounts: exact integers of resource time and of money.

use std::ops::AddAssign;

use crate::resources::Resources;

/// Money in the smallest unit that a price times a duration can give: 10⁻¹⁰ of the currency, divided by the
/// milliseconds of an hour and by the common multiple of thousandths of a core and bytes of a GiB.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Amount(pub i128);

/// Resource time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Quantity {
    /// Thousandths of a core × milliseconds.
    pub cpu_milli_ms: i128,
    /// Bytes × milliseconds.
    pub memory_byte_ms: i128,
    /// Devices × milliseconds.
    pub gpu_ms: i128,
}

/// Prices of one unit for one hour, in 10⁻¹⁰ of the currency.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rate {
    pub cpu_hour: i64,
    pub memory_gib_hour: i64,
    pub gpu_hour: i64,
}

/// Resource time with what it costs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Priced {
    pub quantity: Quantity,
    pub amount: Amount,
}

/// The sum is larger than can be held exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the amount is larger than can be computed exactly; ask for a shorter time")]
pub struct TooLarge;

/// Thousandths of a core, and bytes of a GiB, in the common unit: 2³⁰ × 125 of it make one core or one GiB.
const PER_CPU_MILLI: i128 = (1 << 30) / 8;
const PER_BYTE: i128 = 125;
pub(crate) const PER_WHOLE: i128 = (1 << 30) * 125;

impl Quantity {
    /// `resources` held for `millis`.
    pub fn held(resources: Resources, millis: i64) -> Quantity {
        let times = |value: i64| i128::from(value) * i128::from(millis);
        Quantity {
            cpu_milli_ms: times(resources.cpu_milli),
            memory_byte_ms: times(resources.memory_bytes),
            gpu_ms: times(resources.gpus),
        }
    }

    /// What the quantity costs at `rate`.
    pub fn cost(self, rate: Rate) -> Result<Amount, TooLarge> {
        let part = |price: i64, value: i128, scale: i128| {
            value.checked_mul(scale).and_then(|scaled| scaled.checked_mul(i128::from(price))).ok_or(TooLarge)
        };
        let cpu = part(rate.cpu_hour, self.cpu_milli_ms, PER_CPU_MILLI)?;
        let memory = part(rate.memory_gib_hour, self.memory_byte_ms, PER_BYTE)?;
        let gpu = part(rate.gpu_hour, self.gpu_ms, PER_WHOLE)?;
        cpu.checked_add(memory).and_then(|sum| sum.checked_add(gpu)).map(Amount).ok_or(TooLarge)
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Quantity) {
        self.cpu_milli_ms += other.cpu_milli_ms;
        self.memory_byte_ms += other.memory_byte_ms;
        self.gpu_ms += other.gpu_ms;
    }
}

impl Priced {
    /// `resources` held for `millis` at `rate`.
    pub fn held(resources: Resources, millis: i64, rate: Rate) -> Result<Priced, TooLarge> {
        let quantity = Quantity::held(resources, millis);
        Ok(Priced { quantity, amount: quantity.cost(rate)? })
    }

    pub fn add(&mut self, other: Priced) -> Result<(), TooLarge> {
        self.quantity += other.quantity;
        self.amount = Amount(self.amount.0.checked_add(other.amount.0).ok_or(TooLarge)?);
        Ok(())
    }
}
