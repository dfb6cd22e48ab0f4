//! Meter: what was held, by whom, for how long, and what it costs.
//!
//! Owns price sheets, the splitting of node time and the rounding of money. Invariants: team + shared + overhead + idle
//! equals the capacity of the nodes exactly, in every resource and in money; idle is never negative; all amounts are
//! integers in one unit, and the only division is at the report. Fails with a sentence that names the place in the sheet.
//! What is estimated or left out is said in a note, never silently dropped.

mod amount;
mod currency;
mod overlap;
mod round;
mod sheet;
#[cfg(test)]
mod tests;
mod usage;

pub use crate::meter::{
    amount::{Amount, Priced, Quantity, Rate, TooLarge},
    currency::minor_digits,
    round::{AMOUNT_UNIT, Column, decimals},
    sheet::{BadSheet, Price, Sheet, SheetProblem},
    usage::{Kind, NodeSpan, Owner, PodSpan, Report, RowKey, held, usage},
};
