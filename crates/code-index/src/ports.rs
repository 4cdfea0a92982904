//! Models that a host may add to a search, to compare meanings. A search works without them, and never waits for
//! them.

use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;
use headstart_overlay_fs::WorkspacePath;

/// Where a model gets the texts that it is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelLocation {
    /// On this machine.
    Local,
    /// On another machine: only with the user's explicit consent, and never for work that they did not ask for.
    Remote,
}

/// Turns texts into vectors. Texts with similar meanings have vectors that are close to each other.
///
/// # Guarantees
///
/// * There is one vector for each text, in the order of the texts, and all have [`dimensions`](Self::dimensions)
///   numbers.
/// * Dropping the future ends the work.
///
/// # Not guaranteed
///
/// That the numbers are usable: [`Vector::of`](crate::Vector::of) checks them.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Identifies the model, because only vectors of the same model are compared. It changes with everything that
    /// changes the vectors.
    fn id(&self) -> &str;

    /// The length of a vector, if it is known before the first answer.
    fn dimensions(&self) -> Option<usize>;

    /// Where the texts go.
    fn location(&self) -> ModelLocation;

    /// The vectors of these texts.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelFailure>;
}

/// Rates how well passages answer a question.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// Where the texts go.
    fn location(&self) -> ModelLocation;

    /// A number for each passage, in the order of the passages; higher is better.
    async fn rank(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>, ModelFailure>;
}

/// Why a model gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelFailure {
    /// It may answer later: it is unreachable, limits the rate, or took too long.
    #[error("{message}")]
    Later {
        /// What happened, for the user.
        message: String,
        /// When to ask again, if it said so.
        after: Option<Duration>,
        /// The error below, if there is one.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// It does not accept these texts; it may accept others.
    #[error("{message}")]
    Refused {
        /// What happened, for the user.
        message: String,
        /// The error below, if there is one.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// It cannot be used with its configuration, or its answer is invalid.
    #[error("{message}")]
    Unusable {
        /// What happened and what to do, for the user.
        message: String,
        /// The error below, if there is one.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
}

impl ModelFailure {
    /// The failure of a model that cannot be used, without an error below it.
    pub fn unusable(message: impl Into<String>) -> Self {
        Self::Unusable { message: message.into(), source: None }
    }

    /// The same failure with the error that caused it as its source.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Error + Send + Sync + 'static) -> Self {
        let (Self::Later { source, .. } | Self::Refused { source, .. } | Self::Unusable { source, .. }) =
            &mut self;
        *source = Some(Box::new(cause));
        self
    }
}

/// Shorter queries, in characters, are not reranked, because their words say enough.
const LEAST_JUDGED: usize = 50;

/// Whether a query is long enough for a [`Reranker`] to be asked.
pub fn is_for_judges(query: &str) -> bool {
    LEAST_JUDGED < query.chars().count()
}

/// The longest passage in bytes; a longer one is cut, because models accept a few hundred tokens of code.
const LONGEST_PASSAGE: usize = 4_000;

/// The text that a model is given for a place: its path, then its lines. `lines` are the first and the last one, from
/// 1.
pub fn passage(path: &WorkspacePath, text: &str, lines: (u32, u32)) -> String {
    let (first, last) = (lines.0.max(1) as usize, lines.1 as usize);
    let mut passage = path.to_string();
    for line in text.lines().skip(first - 1).take((last + 1).saturating_sub(first)) {
        passage.push('\n');
        passage.push_str(line);
        if LONGEST_PASSAGE <= passage.len() {
            break;
        }
    }
    let end = (0..=LONGEST_PASSAGE.min(passage.len())).rev().find(|end| passage.is_char_boundary(*end));
    passage.truncate(end.unwrap_or(0));
    passage
}

/// The order of the passages according to a reranker's numbers: their indices, the best first. `None` if the numbers
/// are invalid: too few, too many, or not a number. Passages with equal numbers keep their order.
pub fn order_of(scores: &[f32], passages: usize) -> Option<Vec<usize>> {
    if scores.len() != passages || scores.iter().any(|score| !score.is_finite()) {
        return None;
    }
    let mut order: Vec<usize> = (0..passages).collect();
    order.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]));
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores that are too few, too many or no numbers must not change an order.
    #[test]
    fn what_is_no_judgement_changes_no_order() {
        assert_eq!(order_of(&[0.1, 0.9, 0.1, 0.5], 4), Some(vec![1, 3, 0, 2]));
        for bad in [&[0.1][..], &[0.1, f32::NAN], &[0.1, f32::INFINITY], &[0.1, 0.2, 0.3]] {
            assert_eq!(order_of(bad, 2), None, "{bad:?}");
        }
    }
}
