//! What a host may add to a search: models that compare meanings. A search does without them, and nothing waits for them.

use std::time::Duration;

use async_trait::async_trait;
use headstart_overlay_fs::WorkspacePath;

/// Where a text goes that a model is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// It stays on this machine.
    Machine,
    /// It is sent to another: only by its user's own word, and never for work that nobody asked for.
    Network,
}

/// Turns texts into vectors, of which those of like meaning are close to each other.
///
/// # Guarantees
///
/// * There is one vector for each text, in the order of the texts, and all have [`dimensions`](Self::dimensions) numbers.
/// * Dropping the future ends the work.
///
/// # Not guaranteed
///
/// That the numbers are any good: [`Vector::of`](crate::Vector::of) judges them.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// The model: vectors are compared with those of the same one only. It changes with everything that changes the vectors.
    fn id(&self) -> &str;

    /// How long a vector is, where that is known before the first answer.
    fn dimensions(&self) -> Option<usize>;

    /// Where the texts go.
    fn reach(&self) -> Reach;

    /// The vectors of these texts.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelFailure>;
}

/// Judges how well passages answer a question.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// Where the texts go.
    fn reach(&self) -> Reach;

    /// A number for each passage, in the order of the passages; more is better.
    async fn rank(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>, ModelFailure>;
}

/// Why a model gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelFailure {
    /// It may answer later: it is not there, limits the rate, or takes too long.
    #[error("{message}")]
    Later {
        /// What happened, for the user.
        message: String,
        /// When to ask again, where it said so.
        after: Option<Duration>,
    },
    /// It does not take these texts; it may take others.
    #[error("{message}")]
    Refused {
        /// What happened, for the user.
        message: String,
    },
    /// It is of no use as it is set up, or its answer makes no sense.
    #[error("{message}")]
    Unusable {
        /// What happened and what to do, for the user.
        message: String,
    },
}

/// A shorter query, in signs, is clear by its words.
const LEAST_JUDGED: usize = 50;

/// Whether a query is long enough for a [`Reranker`] to be asked.
pub fn is_for_judges(query: &str) -> bool {
    LEAST_JUDGED < query.chars().count()
}

/// A longer passage is cut, in bytes: models take some hundred tokens of code.
const LONGEST_PASSAGE: usize = 4_000;

/// What a model is given of a place: its path, then its lines. `lines` are the first and the last one, from 1.
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

/// The order in which a reranker's numbers put the passages: their places, the best first. `None` where they are no judgement:
/// too few or too many, or one that is no number. Equal ones stay in the order in which they were given.
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

    // Row: S64
    #[test]
    fn what_is_no_judgement_changes_no_order() {
        assert_eq!(order_of(&[0.1, 0.9, 0.1, 0.5], 4), Some(vec![1, 3, 0, 2]));
        for bad in [&[0.1][..], &[0.1, f32::NAN], &[0.1, f32::INFINITY], &[0.1, 0.2, 0.3]] {
            assert_eq!(order_of(bad, 2), None, "{bad:?}");
        }
    }
}
