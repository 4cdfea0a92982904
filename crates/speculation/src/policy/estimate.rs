/// What each further observation leaves of the weight of those before: the last twenty or so count.
const FADE: f64 = 0.95;

/// What is known of a chance: a Beta distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beta {
    /// Weight of the times it happened.
    pub alpha: f64,
    /// Weight of the times it did not.
    pub beta: f64,
}

impl Beta {
    /// The expected chance.
    pub fn mean(&self) -> f64 {
        self.alpha / (self.alpha + self.beta)
    }

    /// How far off it may be: the standard deviation.
    pub fn deviation(&self) -> f64 {
        let sum = self.alpha + self.beta;
        (self.alpha * self.beta / (sum * sum * (sum + 1.0))).sqrt()
    }
}

/// Observations of a chance; older ones fade.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Seen {
    yes: f64,
    no: f64,
}

impl Seen {
    pub(super) fn observe(&mut self, yes: bool) {
        self.fade();
        *if yes { &mut self.yes } else { &mut self.no } += 1.0;
    }

    /// Time passes without an observation.
    pub(super) fn fade(&mut self) {
        self.yes *= FADE;
        self.no *= FADE;
    }

    /// With what is believed before the first observation: a chance, as sure as so many observations.
    pub(super) fn after(&self, prior: f64, weight: f64) -> Beta {
        Beta { alpha: self.yes + prior * weight, beta: self.no + (1.0 - prior) * weight }
    }
}

/// The mean of an amount; older observations fade.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    pub(super) fn observe(&mut self, amount: f64) {
        self.sum = self.sum * FADE + amount;
        self.weight = self.weight * FADE + 1.0;
    }

    /// The mean, an amount believed before counting as so many observations.
    pub(super) fn after(&self, prior: f64, weight: f64) -> f64 {
        (self.sum + prior * weight) / (self.weight + weight)
    }

    pub(super) fn known(&self) -> Option<f64> {
        (0.0 < self.weight).then(|| self.sum / self.weight)
    }
}
