use serde::{Deserialize, Serialize};

/// The factor by which each observation reduces the weight of the earlier ones, so that the last twenty or so count.
const FADE: f64 = 0.95;
/// The factor by which each turn without an observation reduces it.
const PASSING_FADE: f64 = 0.98;

/// Observations of a chance; older ones fade.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChanceEstimate {
    yes: f64,
    no: f64,
}

impl ChanceEstimate {
    pub(super) fn observe(&mut self, yes: bool) {
        self.fade(FADE);
        *if yes { &mut self.yes } else { &mut self.no } += 1.0;
    }

    /// Notes that a turn passes without an observation.
    pub(super) fn note_turn_passed(&mut self) {
        self.fade(PASSING_FADE);
    }

    /// The chance. `prior` is what is believed before the first observation, and counts as `weight` observations.
    pub(super) fn estimate(&self, prior: f64, weight: f64) -> f64 {
        (self.yes + prior * weight) / (self.yes + self.no + weight)
    }

    pub(super) fn is_valid(&self) -> bool {
        [self.yes, self.no].into_iter().all(is_amount)
    }

    fn fade(&mut self, part: f64) {
        self.yes *= part;
        self.no *= part;
    }
}

/// The mean of an amount; older observations fade.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    pub(super) fn observe(&mut self, amount: f64) {
        self.sum = self.sum * FADE + amount;
        self.weight = self.weight * FADE + 1.0;
    }

    /// The mean. `prior` is the amount believed before the first observation, and counts as `weight` observations.
    pub(super) fn estimate(&self, prior: f64, weight: f64) -> f64 {
        (self.sum + prior * weight) / (self.weight + weight)
    }

    pub(super) fn known(&self) -> Option<f64> {
        (0.0 < self.weight).then(|| self.sum / self.weight)
    }

    pub(super) fn is_valid(&self) -> bool {
        [self.sum, self.weight].into_iter().all(is_amount)
    }
}

fn is_amount(number: f64) -> bool {
    number.is_finite() && 0.0 <= number
}
