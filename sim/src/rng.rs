//! Chance: a small seeded generator (SplitMix64), so that a seed means the same run on every machine and in every version.
//!
//! It is neither secret nor secure. Invariant: the sequence of a seed never changes; the test pins its first numbers.

/// A stream of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A whole number below `bound`; 0 when the bound is 0. The bias is below 2⁻³² for bounds that fit 32 bits.
    pub fn below(&mut self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.bits()) * u128::from(bound)) >> 64).unwrap_or(0)
    }

    /// A number in `0.0..1.0`, on a grid of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / 9_007_199_254_740_992.0;
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact in a float")]
        let whole = (self.bits() >> 11) as f64;
        whole * STEP
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn sequence_of_a_seed_is_the_published_one() {
        let mut rng = Rng::new(1_234_567);
        assert_eq!(
            [rng.bits(), rng.bits(), rng.bits()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut rng = Rng::new(7);
        assert!((0..1_000).all(|_| rng.below(3) < 3 && (0.0..1.0).contains(&rng.unit())));
        assert_eq!(rng.below(0), 0);
    }
}
