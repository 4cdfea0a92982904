use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// How many observations are kept.
const KEPT: usize = 20;
/// How many observations a prior counts for.
const PRIOR_WEIGHT: usize = 3;

/// The last observations of a length of time, in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Recent(VecDeque<u32>);

impl Recent {
    pub(super) fn observe(&mut self, seconds: u32) {
        self.0.push_back(seconds);
        while KEPT < self.0.len() {
            self.0.pop_front();
        }
    }

    /// The median, together with what is believed before the first observation.
    pub(super) fn median(&self, prior: u32) -> f64 {
        let mut all: Vec<u32> = self.0.iter().copied().take(KEPT).collect();
        all.extend([prior; PRIOR_WEIGHT]);
        all.sort_unstable();
        f64::from(all[all.len() / 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_begins_as_the_prior_and_follows_what_is_seen() {
        let mut recent = Recent::default();
        assert!((recent.median(68) - 68.0).abs() < 1e-9);
        (0..100).for_each(|_| recent.observe(5));
        assert!((recent.median(68) - 5.0).abs() < 1e-9);
        (0..20).for_each(|_| recent.observe(300));
        assert!((recent.median(68) - 300.0).abs() < 1e-9, "what was long ago is forgotten");
    }
}
