//! From a query to the places that fit it best.

mod deliver;
mod foreign;
mod fuse;
mod rank;

use headstart_overlay_fs::{ContentHash, WorkspacePath};

pub use self::foreign::needs_translation;
use self::rank::Ranking;
use crate::{IndexError, Query, View, Weights, whole};

/// How much an answer may hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// Hits.
    pub hits: usize,
    /// What scores less than this share of the best is left out.
    pub least: f32,
}

impl Default for Budget {
    /// 25 hits, each with 15 % of the best score or more.
    fn default() -> Self {
        Self { hits: 25, least: 0.15 }
    }
}

/// Why a place was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// The term, as it is in the index: in lower case, without its ending.
    pub term: String,
    /// The field in which it counts most.
    pub field: &'static str,
    /// What it adds to the score of the place, or of the file's names and past, by itself.
    pub part: f32,
}

/// A place that fits a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The file.
    pub path: WorkspacePath,
    /// The first line, from 1, and the last one; 0 and 0 where only the path is known.
    pub lines: (u32, u32),
    /// How well it fits; comparable within one answer.
    pub score: f32,
    /// The definition that begins there, or that is around it.
    pub symbol: Option<String>,
    /// The terms, what counts most first.
    pub why: Vec<Why>,
    /// What the file held when it was indexed: a text of another digest is not what was found.
    pub digest: ContentHash,
}

/// Files that were changed a moment ago, and how much each counts, from 0 to 1.
pub type Recent<'a> = &'a [(WorkspacePath, f32)];

/// The places that fit best, the best first. Each file comes with its best place before any comes with a second.
///
/// The order is the same for equal scores: by path, then by line.
pub fn search(
    view: &View<'_>,
    query: &Query,
    budget: Budget,
    recent: Recent<'_>,
    weights: &Weights,
) -> Result<Vec<Hit>, IndexError> {
    let ranking = Ranking::of(view, query, weights)?;
    let files = ranking.files(query, budget, recent)?;
    deliver::deliver(&ranking, &files, query, budget)
}

/// Whether the query names something that is defined in the view: then it says exactly what it means, and no vectors and no second judge are
/// asked.
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

/// The files that fit best with their scores, the best first.
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
