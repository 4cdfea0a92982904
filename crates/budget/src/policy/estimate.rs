/// The factor by which each observation reduces the weight of the earlier ones, so that the last twenty or so count.
const FADE: f64 = 0.95;

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

    pub(super) fn known(&self) -> Option<f64> {
        (0.0 < self.weight).then(|| self.sum / self.weight)
    }
}
