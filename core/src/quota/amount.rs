//! Amounts of quota as text: written so that the same text read again is the same amount.
//!
//! Invariant: `read(resource, &text(resource, amount))` is `amount` for every amount that is not negative. Fails with a
//! sentence that names the text; repaired by who wrote it.

use crate::{
    quantity::{milli, whole},
    quota::Resource,
    resources::is_gpu,
    sentence::clip,
};

impl Resource {
    pub const ALL: [Resource; 3] = [Resource::Cpu, Resource::Memory, Resource::Gpu];

    /// The word stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Resource::Cpu => "cpu",
            Resource::Memory => "memory",
            Resource::Gpu => "gpu",
        }
    }

    /// From the word that we show.
    pub fn from_word(word: &str) -> Option<Resource> {
        Resource::ALL.into_iter().find(|resource| resource.word() == word)
    }

    /// From our word, or from the name that Kubernetes has for it, for example `nvidia.com/gpu`.
    pub fn from_name(name: &str) -> Option<Resource> {
        Resource::from_word(name).or_else(|| is_gpu(name).then_some(Resource::Gpu))
    }
}

/// As a Kubernetes quantity: `500m`, `64Gi`, `8`.
pub fn text(resource: Resource, amount: i64) -> String {
    match resource {
        Resource::Cpu if amount % 1_000 == 0 => (amount / 1_000).to_string(),
        Resource::Cpu => format!("{amount}m"),
        Resource::Memory => bytes(amount),
        Resource::Gpu => amount.to_string(),
    }
}

/// In the largest binary unit that holds it exactly.
fn bytes(amount: i64) -> String {
    const UNITS: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let power = if amount == 0 { 0 } else { (amount.trailing_zeros() / 10).min(6) };
    let unit = UNITS.get(power as usize).copied().unwrap_or_default();
    format!("{}{unit}", amount >> (10 * power))
}

/// From a Kubernetes quantity. GPUs come whole; a fraction of a byte or of a thousandth of a core is refused as well.
pub fn read(resource: Resource, quantity: &str) -> Result<i64, String> {
    let shown = clip(quantity, 40);
    let fine = match resource {
        Resource::Cpu => return milli(quantity).map_err(|error| error.to_string()),
        Resource::Memory | Resource::Gpu => whole(quantity).map_err(|error| error.to_string())?,
    };
    let is_fraction = milli(quantity).is_ok_and(|thousandths| thousandths % 1_000 != 0);
    match resource {
        Resource::Gpu if is_fraction => Err(format!("{shown:?} is a part of a GPU; quotas count whole ones")),
        _ => Ok(fine),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_read_as_in_a_manifest() {
        assert_eq!(text(Resource::Cpu, 1_500), "1500m");
        assert_eq!(text(Resource::Cpu, 64_000), "64");
        assert_eq!(text(Resource::Memory, 3 << 30), "3Gi");
        assert_eq!(text(Resource::Memory, 1_500), "1500");
        assert_eq!(text(Resource::Gpu, 8), "8");
        assert_eq!(text(Resource::Memory, 0), "0");
    }

    #[test]
    fn a_part_of_a_gpu_is_refused() {
        assert_eq!(
            read(Resource::Gpu, "500m").unwrap_err(),
            "\"500m\" is a part of a GPU; quotas count whole ones"
        );
        assert_eq!(read(Resource::Gpu, "1e1"), Ok(10));
        assert_eq!(read(Resource::Memory, "1.5Gi"), Ok(3 << 29));
        assert!(read(Resource::Cpu, "99999999999999999999").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_the_same_amount(amount in 0i64..=i64::MAX, which in 0usize..3) {
            let resource = Resource::ALL[which];
            prop_assert_eq!(read(resource, &text(resource, amount)), Ok(amount));
        }
    }
}
