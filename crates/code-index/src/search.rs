//! Finds the places that match a query best.

mod fuse;
mod hits;
mod rank;

use headstart_overlay_fs::{ContentHash, WorkspacePath};

use self::rank::Ranking;
use crate::{IndexError, Query, Symbol, View, Weights, whole};

/// How much an answer may contain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// The most hits.
    pub hits: usize,
    /// Hits with less than this share of the best score are left out.
    pub least: f32,
}

impl Default for Budget {
    /// 25 hits, each with 15 % of the best score or more.
    fn default() -> Self {
        Self { hits: 25, least: 0.15 }
    }
}

/// Why a place was found: one term.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchReason {
    /// The term as it is in the index: in lower case, and stemmed.
    pub term: String,
    /// The field in which it counts most.
    pub field: &'static str,
    /// What it alone adds to the score of the chunk, or of the file.
    pub part: f32,
}

/// A place that matches a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The file.
    pub path: WorkspacePath,
    /// The first and the last line, from 1; 0 and 0 if only the path is known.
    pub lines: (u32, u32),
    /// How well it matches; comparable within one answer.
    pub score: f32,
    /// The definition that was asked for, or that begins there, or that encloses it.
    pub symbol: Option<Symbol>,
    /// Whether that definition was asked for by its name, in this spelling.
    pub is_asked: bool,
    /// The terms, the most important first.
    pub why: Vec<MatchReason>,
    /// The digest of the file when it was indexed: if its content has another digest now, the lines may not be right
    /// any more.
    pub digest: ContentHash,
}

/// Files that were changed a moment ago, with a weight from 0 to 1.
pub type Recent<'a> = &'a [(WorkspacePath, f32)];

/// The places that match best, the best first. The best place of each file comes before the second place of any.
///
/// Places with equal scores are sorted by path, then by line.
pub fn search(
    view: &View<'_>,
    query: &Query,
    budget: Budget,
    recent: Recent<'_>,
    weights: &Weights,
) -> Result<Vec<Hit>, IndexError> {
    let ranking = Ranking::of(view, query, weights)?;
    let files = ranking.files(query, budget, recent)?;
    hits::hits_of(&ranking, &files, query, budget)
}

/// Whether the query names something that is defined in the view. Then it says exactly what it means, and neither
/// vectors nor a reranker are used.
pub fn names_definition(view: &View<'_>, query: &Query) -> Result<bool, IndexError> {
    for name in query.names() {
        for layer in &view.layers {
            let mut found = false;
            layer.snapshot.definitions(&whole(name), &mut |_, _| found = true)?;
            if found {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The files that match best with their scores, the best first.
pub fn search_files(
    view: &View<'_>,
    query: &Query,
    budget: Budget,
    recent: Recent<'_>,
    weights: &Weights,
) -> Result<Vec<(WorkspacePath, f32)>, IndexError> {
    let ranking = Ranking::of(view, query, weights)?;
    let files = ranking.files(query, budget, recent)?;
    Ok(files.into_iter().take(budget.hits).map(|file| (file.path, file.score)).collect())
}
