//! How well a document matches a query: BM25 over weighted fields.
//!
//! `x = Σ weight · tf / (1 − b + b · length / mean length)` over the fields of a document, and its score is the sum
//! over the query's terms of `weight · idf · x / (k + x)`. Chunks and files are scored separately. A file's score is
//! that of its best chunk, plus a share of its own, plus a share of what each term adds to the chunk that it matches
//! best, and a little more the more chunks it has.

use crate::View;

/// The weight of a field, and the effect of its length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldWeight {
    /// How much one occurrence counts.
    pub weight: f32,
    /// From 0, with which the length does not matter, to 1.
    pub b: f32,
}

/// The parameters of the scorer. The defaults were the best in the evaluation, for the queries with which they are
/// tuned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Body and header of a chunk.
    pub chunk: [FieldWeight; 2],
    /// Folder, name, definitions and history of a file.
    pub file: [FieldWeight; 4],
    /// For chunks, the number of occurrences at which further ones hardly add anything.
    pub chunk_k: f32,
    /// The same for files.
    pub file_k: f32,
    /// How much of the file's own score is added to that of its best chunk.
    pub file_share: f32,
    /// A file's score for terms in different chunks: this share of the sum, over the terms, of what each adds to the
    /// chunk that it matches best.
    pub spread: f32,
    /// A long file is more likely to be meant than a short one: its score is multiplied by one plus this share of the
    /// logarithm of its number of chunks.
    pub size: f32,
    /// What a file that was changed a moment ago gets, as a share of the best score.
    pub recent: f32,
    /// The weight of the order by vectors against the order by words, if a query has both.
    pub vectors: f32,
}

impl Weights {
    /// The parameters for a view: the defaults, or those for an index without past commits.
    pub fn for_view(view: &View<'_>) -> Self {
        if view.totals.file_lengths[3] == 0 { Self::without_history() } else { Self::default() }
    }

    /// For an index without past commits, in which a file's content has to say everything. Tuned in the same way,
    /// without that field.
    fn without_history() -> Self {
        let of = |weight, b| FieldWeight { weight, b };
        Self {
            chunk: [of(1.0, 0.64), of(2.4, 0.69)],
            file: [of(1.5, 0.72), of(1.5, 0.9), of(0.14, 0.19), of(0.6, 0.17)],
            chunk_k: 1.44,
            file_share: 2.0,
            recent: 0.09,
            ..Self::default()
        }
    }
}

impl Default for Weights {
    fn default() -> Self {
        let of = |weight, b| FieldWeight { weight, b };
        Self {
            chunk: [of(1.0, 0.64), of(1.9, 0.86)],
            file: [of(1.9, 0.72), of(2.6, 0.72), of(0.24, 0.62), of(0.36, 0.17)],
            chunk_k: 1.8,
            file_k: 1.9,
            file_share: 3.2,
            spread: 0.18,
            size: 0.05,
            recent: 0.14,
            vectors: 0.05,
        }
    }
}

/// The names of a chunk's fields, in the order of [`Weights::chunk`].
pub(crate) const CHUNK_FIELDS: [&str; 2] = ["body", "header"];
/// The names of a file's fields, in the order of [`Weights::file`].
pub(crate) const FILE_FIELDS: [&str; 4] = ["folder", "name", "definitions", "history"];

/// How specific a term is that occurs in `found` of `all` documents.
pub(crate) fn idf(found: u64, all: u64) -> f32 {
    let (found, all) = (approximate(found), approximate(all));
    ((all - found + 0.5) / (found + 0.5) + 1.0).ln()
}

/// The weighted occurrences of one term in the fields of one document.
pub(crate) fn occurrences<const N: usize>(
    weights: &[FieldWeight; N],
    counts: [u32; N],
    lengths: [u32; N],
    means: [f32; N],
) -> f32 {
    let mut sum = 0.0;
    for field in 0..N {
        if counts[field] != 0 {
            let FieldWeight { weight, b } = weights[field];
            let length = number(lengths[field]) / means[field].max(1e-6);
            sum += weight * number(counts[field]) / (1.0 - b + b * length);
        }
    }
    sum
}

/// The mean length of a field.
pub(crate) fn mean(total: u64, documents: u64) -> f32 {
    approximate(total) / approximate(documents.max(1))
}

#[expect(clippy::cast_precision_loss, reason = "lengths and counts are far below 2²⁴")]
pub(crate) fn number(value: u32) -> f32 {
    value as f32
}

#[expect(clippy::cast_precision_loss, reason = "of a number that large the first seven digits are enough")]
fn approximate(value: u64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A term counts more the rarer it is, and even a term that is everywhere does not count negatively.
    #[test]
    fn rare_terms_tell_more_and_no_term_tells_less_than_nothing() {
        assert!(idf(1, 1_000) > idf(10, 1_000) && idf(10, 1_000) > idf(1_000, 1_000));
        assert!(0.0 < idf(1_000, 1_000));
    }

    #[test]
    fn a_short_field_counts_more_and_a_missing_one_nothing() {
        let weights = Weights::default().chunk;
        let at = |counts, lengths| occurrences(&weights, counts, lengths, [100.0, 4.0]);
        assert!(at([1, 0], [50, 4]) > at([1, 0], [200, 4]));
        assert!(at([1, 1], [100, 4]) > at([1, 0], [100, 4]));
        assert!(at([0, 0], [0, 0]).abs() < f32::EPSILON);
        let by_hand = 1.0 * 2.0 / (1.0 - 0.64 + 0.64 * 0.5);
        assert!((at([2, 0], [50, 4]) - by_hand).abs() < 1e-6);
    }
}
