use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many observations the measured shares count for.
const PRIOR_WEIGHT: f64 = 20.0;
/// The factor by which each observation reduces the weight of the earlier ones, so that the last fifty or so count.
const FADE: f64 = 0.98;
/// No guess counts as more certain, because one that is certain could cost any amount.
const MOST: f64 = 0.95;
/// The most models of which something is kept.
const MAX_MODELS: usize = 64;

/// How sure a model said it is of a guess. The bounds are those at which the measured shares differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// Below 20 %.
    Lowest,
    /// From 20 % to below 60 %, or not said.
    Low,
    /// From 60 % to below 80 %.
    High,
    /// From 80 %.
    Highest,
}

impl Band {
    /// All bands, least sure first.
    pub const ALL: [Self; 4] = [Self::Lowest, Self::Low, Self::High, Self::Highest];

    /// The band of what a model said, in percent.
    pub fn of(said: Option<u8>) -> Self {
        match said {
            Some(..20) => Self::Lowest,
            None | Some(20..60) => Self::Low,
            Some(60..80) => Self::High,
            Some(80..) => Self::Highest,
        }
    }

    /// The least that a model says in this band, in percent, and the bound below which it stays; `None` for no bound.
    pub fn bounds(self) -> (u8, Option<u8>) {
        match self {
            Self::Lowest => (0, Some(20)),
            Self::Low => (20, Some(60)),
            Self::High => (60, Some(80)),
            Self::Highest => (80, None),
        }
    }

    /// The share of guesses that came true in 71 conversations of two teams, of which two people judged each guess: the
    /// mean of both. Of the highest band there was none, so that this is an assumption.
    fn measured(self) -> f64 {
        match self {
            Self::Lowest => 0.0,
            Self::Low => 15.5 / 49.0,
            Self::High => 7.0 / 11.0,
            Self::Highest => 0.7,
        }
    }
}

/// What came of the guesses of one model, by how sure it said it was.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Observed {
    lowest: Counts,
    low: Counts,
    high: Counts,
    highest: Counts,
    /// How many answers in a row could not be used at all.
    unfit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Counts {
    came_true: f64,
    did_not: f64,
}

/// What the chances that models say are worth for one user: for each model and band a share, which begins as the one
/// that was measured and turns into the one that is observed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Calibration(BTreeMap<String, Observed>);

impl Calibration {
    /// The chance that a guess comes true of which the model said this much.
    pub(super) fn chance(&self, model: &str, band: Band) -> f64 {
        let Counts { came_true, did_not } = self.0.get(model).map(|of| of.get(band)).unwrap_or_default();
        let share = (came_true + PRIOR_WEIGHT * band.measured()) / (came_true + did_not + PRIOR_WEIGHT);
        share.min(MOST)
    }

    /// Learns what came of a guess.
    pub(super) fn observe(&mut self, model: &str, band: Band, came_true: bool) {
        self.make_room(model);
        let counts = self.0.entry(model.to_owned()).or_default().get_mut(band);
        counts.fade();
        *if came_true { &mut counts.came_true } else { &mut counts.did_not } += 1.0;
    }

    /// Learns whether an answer of a model could be used.
    pub(super) fn note_fit(&mut self, model: &str, is_fit: bool) {
        if is_fit && !self.0.contains_key(model) {
            return;
        }
        self.make_room(model);
        let unfit = &mut self.0.entry(model.to_owned()).or_default().unfit;
        *unfit = if is_fit { 0 } else { unfit.saturating_add(1) };
    }

    /// How many answers of a model in a row could not be used at all.
    pub(super) fn unfit(&self, model: &str) -> u32 {
        self.0.get(model).map_or(0, |observed| observed.unfit)
    }

    /// Lets what is known of all bands count for less, because a turn passed without a guess on the screen. A model
    /// whose guesses are not shown any more is tried again so.
    pub(super) fn fade(&mut self, model: &str) {
        let Some(observed) = self.0.get_mut(model) else { return };
        for band in Band::ALL {
            observed.get_mut(band).fade();
        }
    }

    /// Whether these are numbers that learning can result in.
    pub(super) fn is_valid(&self) -> bool {
        let counts = self.0.values().flat_map(|of| Band::ALL.map(|band| of.get(band)));
        let mut numbers = counts.flat_map(|counts| [counts.came_true, counts.did_not]);
        numbers.all(|number| number.is_finite() && 0.0 <= number)
    }

    /// Forgets the model of which least is known, if a new one has no room.
    fn make_room(&mut self, model: &str) {
        if self.0.len() < MAX_MODELS || self.0.contains_key(model) {
            return;
        }
        let least = self.0.iter().min_by(|(_, one), (_, two)| one.weight().total_cmp(&two.weight()));
        if let Some(name) = least.map(|(name, _)| name.clone()) {
            self.0.remove(&name);
        }
    }
}

impl Observed {
    fn get(&self, band: Band) -> Counts {
        match band {
            Band::Lowest => self.lowest,
            Band::Low => self.low,
            Band::High => self.high,
            Band::Highest => self.highest,
        }
    }

    fn get_mut(&mut self, band: Band) -> &mut Counts {
        match band {
            Band::Lowest => &mut self.lowest,
            Band::Low => &mut self.low,
            Band::High => &mut self.high,
            Band::Highest => &mut self.highest,
        }
    }

    fn weight(&self) -> f64 {
        Band::ALL.map(|band| self.get(band)).map(|counts| counts.came_true + counts.did_not).iter().sum()
    }
}

impl Counts {
    fn fade(&mut self) {
        self.came_true *= FADE;
        self.did_not *= FADE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_observed_takes_the_place_of_what_was_measured() {
        let mut calibration = Calibration::default();
        let chance = |calibration: &Calibration, model, band| {
            let (found, each) = (calibration.chance(model, band), 0.001);
            (0..=1_000_u32).rfind(|parts| f64::from(*parts) * each <= found + each / 2.0).unwrap()
        };
        assert_eq!(Band::ALL.map(|band| chance(&calibration, "m", band)), [0, 316, 636, 700]);
        for _ in 0..10 {
            calibration.observe("m", Band::High, false);
        }
        assert!((400..450).contains(&chance(&calibration, "m", Band::High)));
        assert_eq!(chance(&calibration, "m", Band::Low), 316, "each band learns for itself");
        assert_eq!(chance(&calibration, "n", Band::High), 636, "and each model");
        for _ in 0..500 {
            calibration.observe("m", Band::High, false);
            calibration.observe("n", Band::High, true);
        }
        assert!(chance(&calibration, "m", Band::High) < 200);
        assert!(800 < chance(&calibration, "n", Band::High) && chance(&calibration, "n", Band::High) <= 950);
        for _ in 0..40 {
            calibration.fade("m");
        }
        assert!(200 < chance(&calibration, "m", Band::High), "it is shown again at some time");
        assert!(calibration.is_valid());
    }

    #[test]
    fn only_so_many_models_are_kept_and_the_least_known_goes_first() {
        let mut calibration = Calibration::default();
        calibration.observe("known", Band::Low, true);
        calibration.observe("known", Band::Low, true);
        for number in 0..2 * MAX_MODELS {
            calibration.observe(&number.to_string(), Band::Low, true);
        }
        assert_eq!(calibration.0.len(), MAX_MODELS);
        assert!(calibration.0.contains_key("known"));
    }

    #[test]
    fn what_is_said_belongs_to_one_band() {
        for said in 0..=100 {
            let (from, below) = Band::of(Some(said)).bounds();
            assert!(from <= said && below.is_none_or(|below| said < below), "{said}");
        }
        assert_eq!(Band::of(None), Band::Low);
    }
}
