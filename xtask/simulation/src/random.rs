//! Pseudorandom numbers, which are the same on every machine.

/// A 64-bit generator (`SplitMix`).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0, inclusive, to 1, exclusive.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        // A float holds 32 bits exactly.
        f64::from(u32::try_from(bits >> 32).expect("works because 32 bits are left")) / 4_294_967_296.0
    }

    /// A whole number from 0 to below `count`.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "small"
        )]
        let one = (self.next() * count as f64) as u64;
        one
    }
}

/// A distribution by its quantiles, in rising order from 0 to 1. Between two of them the value grows linearly. So no
/// function is used whose result could differ from machine to machine.
#[derive(Clone, Copy)]
pub(crate) struct Quantiles(pub(crate) &'static [(f64, f64)]);

impl Quantiles {
    /// The value below which this part of all values is.
    pub(crate) fn at(&self, part: f64) -> f64 {
        for pair in self.0.windows(2) {
            let [(from, low), (to, high)] = [pair[0], pair[1]];
            if part <= to {
                return low + (high - low) * (part - from) / (to - from);
            }
        }
        self.0.last().map_or(0.0, |(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_met() {
        let quantiles = Quantiles(&[(0.0, 0.0), (0.5, 10.0), (1.0, 110.0)]);
        let mut random = Random::new(1);
        let mut drawn: Vec<f64> = (0..10_000).map(|_| quantiles.at(random.next())).collect();
        drawn.sort_by(f64::total_cmp);
        assert!((9.0..13.0).contains(&drawn[5_000]), "{}", drawn[5_000]);
        assert!((55.0..65.0).contains(&drawn[7_500]), "{}", drawn[7_500]);
    }
}
