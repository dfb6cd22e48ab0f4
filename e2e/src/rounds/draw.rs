//! Draws: numbers that look random and follow from a seed and a round, so that a round can be done again.

/// Numbers of one round.
pub struct Draw(u64);

/// One of `all` for a round: every so many rounds each comes once, in an order that follows from the seed, so that few rounds
/// have them all. They must not be empty.
pub fn dealt<T: Copy>(seed: u64, round: u32, all: &[T]) -> T {
    let count = u32::try_from(all.len().max(1)).unwrap_or(1);
    let mut deck = all.to_vec();
    let mut draw = Draw::new(!seed, round / count);
    for at in (1..deck.len()).rev() {
        deck.swap(at, draw.below(at + 1));
    }
    deck[(round % count) as usize]
}

impl Draw {
    pub fn new(seed: u64, round: u32) -> Draw {
        let mut draw = Draw(seed ^ (u64::from(round) << 32));
        draw.next();
        draw
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of them. They must not be empty.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A number below `limit`; 0 below 0.
    fn below(&mut self, limit: usize) -> usize {
        let at = self.next() % u64::try_from(limit.max(1)).unwrap_or(1);
        usize::try_from(at).unwrap_or(0)
    }

    /// Milliseconds from `least` up to `most`.
    pub fn millis(&mut self, least: u64, most: u64) -> std::time::Duration {
        std::time::Duration::from_millis(least + self.next() % (most.saturating_sub(least) + 1))
    }

    pub fn coin(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_draws_the_same_again_and_rounds_differ() {
        let draws = |round| {
            let mut draw = Draw::new(7, round);
            (0..8).map(|_| draw.next()).collect::<Vec<_>>()
        };
        assert_eq!(draws(3), draws(3));
        assert_ne!(draws(3), draws(4));
    }

    #[test]
    fn every_fault_comes_once_before_one_comes_again() {
        let dealt = |seed| (0..12).map(|round| dealt(seed, round, &[1, 2, 3, 4])).collect::<Vec<_>>();
        for deck in dealt(7).chunks(4) {
            assert_eq!(deck.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        }
        assert_eq!(dealt(7), dealt(7));
        assert_ne!(dealt(7), dealt(8));
    }

    #[test]
    fn every_choice_is_drawn_in_the_end_and_times_stay_in_their_bounds() {
        let mut seen = std::collections::BTreeSet::new();
        for round in 0..100 {
            let mut draw = Draw::new(1, round);
            seen.insert(draw.one_of(&[1, 2, 3, 4]));
            let millis = draw.millis(10, 20).as_millis();
            assert!((10..=20).contains(&millis));
        }
        assert_eq!(seen.len(), 4);
    }
}
