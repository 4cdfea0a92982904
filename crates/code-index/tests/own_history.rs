//! Searches find what the commits of this very repository changed. The test is a floor: no change of the scorer may
//! find less.
#![cfg(feature = "grammars")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "it reads the repository with git, and counts"
)]
#![allow(dead_code, clippy::allow_attributes, reason = "the evaluation uses more of this file")]

#[path = "../examples/evaluate/corpus.rs"]
mod corpus;

use headstart_code_index::{Budget, Query, View, Weights, search_files};

use self::corpus::{Case, Corpus};

type Failure = Box<dyn std::error::Error>;

/// The last commit that is looked at, fixed so that later commits change nothing here.
const NEWEST: &str = "082cbaa67a916e1721f62d8b9e375adffacc743e";

/// The time is not needed here, but the module that is shared with the example asks for it.
fn cpu_milliseconds() -> f64 {
    0.0
}

/// The recall among the first ten hits, and the mean of one over the rank of the first relevant hit.
fn quality(corpus: &Corpus, cases: &[Case]) -> (f64, f64) {
    let view = View::new(&corpus.index, []);
    let (mut recall, mut mrr) = (0.0, 0.0);
    for case in cases {
        let query = Query::parse(&case.text, |path| view.has(path));
        let budget = Budget { hits: 100, least: 0.0 };
        let found = search_files(&view, &query, budget, &corpus.recent, &Weights::default());
        let found: Vec<String> =
            found.expect("memory does not fail").into_iter().map(|(path, _)| path.to_string()).collect();
        let hits = found.iter().take(10).filter(|path| case.relevant.contains(path)).count();
        recall += hits as f64 / case.relevant.len() as f64;
        let first = found.iter().position(|path| case.relevant.contains(path));
        mrr += first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
    }
    (recall / cases.len() as f64, mrr / cases.len() as f64)
}

#[test]
#[ignore = "needs the whole history, which a shallow clone has not; the long checks run it"]
fn searches_find_what_commits_changed() {
    let corpus =
        Corpus::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."), NEWEST, true).unwrap_or_else(|error| {
            panic!("this test needs git and the whole history (git fetch --unshallow): {error}")
        });
    assert!(50 <= corpus.held_out().len(), "{} queries", corpus.held_out().len());
    let (recall, mrr) = quality(&corpus, corpus.held_out());
    let (names_recall, names_mrr) = quality(&corpus, corpus.names());
    let figures = format!("recall {recall:.3}, MRR {mrr:.3}; names {names_recall:.3}, {names_mrr:.3}");
    println!("{figures}");
    assert!(0.4 <= recall && 0.35 <= mrr, "{figures}");
    assert!(0.97 <= names_recall && 0.945 <= names_mrr, "{figures}");
}
