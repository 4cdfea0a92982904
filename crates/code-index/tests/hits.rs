//! Fifty queries over a small project, with and without staged edits. The index in memory and the index on disk must
//! both give the hits of `hits/expected.json`, and so must the npm package, whose tests read the same files.
//!
//! The project is in languages without a grammar, so that the answers do not depend on the features. After an intended
//! change, `HITS=write cargo test -p headstart-code-index --test hits` writes the expected hits anew; read the
//! difference before you keep it.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the project is on the disk; what a helper cannot do stops the test"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::executor::block_on;
use headstart_code_index::{
    Budget, CutContents, Delta, MemoryIndex, Query, Snapshot, View, Weights, project_files, search,
};
use headstart_overlay_fs::{MemoryTree, Overlay, Quota, Tree as _, WorkspacePath};
use serde_json::{Value, json};

/// A file that is staged as removed, in addition to the files of `hits/staged`.
const REMOVED: &str = "mobile/theme.css";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hits")
}

fn files_in(folder: &Path, below: &str, found: &mut Vec<(String, Vec<u8>)>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            files_in(&entry.path(), &format!("{name}/"), found);
        } else {
            found.push((name, std::fs::read(entry.path()).unwrap()));
        }
    }
}

fn files(name: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    files_in(&folder().join(name), "", &mut found);
    found
}

fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

fn project() -> Arc<MemoryTree> {
    let tree = MemoryTree::new();
    for (name, content) in files("project") {
        tree.write(&path(&name), content);
    }
    Arc::new(tree)
}

fn staged(project: &Arc<MemoryTree>) -> Delta {
    let overlay = Overlay::new(Arc::clone(project) as _, Quota::default());
    block_on(async {
        for (name, content) in files("staged") {
            overlay.write(&path(&name), content).await.unwrap();
        }
        overlay.remove(&path(REMOVED)).await.unwrap();
        let mut cut = CutContents::default();
        Delta::of(&overlay, &overlay.change_set(), &BTreeSet::new(), &|_| false, &mut cut).await
    })
}

/// The hits of every query, over the project alone and over the project with the staged files.
fn answers(index: &dyn Snapshot, delta: &Delta) -> Vec<Value> {
    let over = delta.over(index).unwrap();
    let queries = std::fs::read_to_string(folder().join("queries.txt")).unwrap();
    let answer = |query: &str| {
        let [plain, staged] = [View::new(index, []), View::new(index, [&over])].map(|view| {
            let query = Query::parse(query, |path| view.has(path));
            let weights = Weights::for_view(&view);
            let hits = search(&view, &query, Budget::default(), &[], &weights).unwrap();
            let hit = |hit: &headstart_code_index::Hit| {
                json!({
                    "path": hit.path.as_str(),
                    "lines": hit.lines,
                    "score": (f64::from(hit.score) * 1e5).round() / 1e5,
                    "symbol": hit.symbol.as_ref().map(|symbol| &symbol.name),
                })
            };
            hits.iter().map(hit).collect::<Vec<_>>()
        });
        json!({ "query": query, "hits": plain, "staged": staged })
    };
    queries.lines().map(answer).collect()
}

fn assert_same(found: &[Value], expected: &[Value], of: &str) {
    assert_eq!(found.len(), expected.len(), "{of}");
    for (found, expected) in found.iter().zip(expected) {
        for kind in ["hits", "staged"] {
            let place = |hit: &Value| [&hit["path"], &hit["lines"], &hit["symbol"]].map(Clone::clone);
            let (found_hits, expected_hits) =
                (found[kind].as_array().unwrap(), expected[kind].as_array().unwrap());
            let query = &found["query"];
            assert_eq!(query, &expected["query"], "{of}");
            let places = |hits: &[Value]| hits.iter().map(place).collect::<Vec<_>>();
            assert_eq!(places(found_hits), places(expected_hits), "{of}, {kind} of {query}");
            for (one, other) in found_hits.iter().zip(expected_hits) {
                let [one, other] = [one, other].map(|hit| hit["score"].as_f64().unwrap());
                assert!((one - other).abs() < 1e-4, "{of}, {kind} of {query}: {one} and {other}");
            }
        }
    }
}

fn expected() -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn memory_gives_the_expected_hits() {
    let project = project();
    let listed = block_on(project_files(project.as_ref(), &|_| false)).unwrap();
    let contents: Vec<_> =
        listed.files.iter().map(|(path, _)| (path.clone(), block_on(project.read(path)).unwrap())).collect();
    let index = MemoryIndex::of(contents.iter().map(|(path, bytes)| (path, &bytes[..])));
    let found = answers(&index, &staged(&project));
    if std::env::var("HITS").is_ok_and(|value| value == "write") {
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        std::fs::write(folder().join("expected.json"), format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
    assert!(50 <= found.len());
    assert_same(&found, &expected(), "memory");
    let without = |kind: &str| found.iter().filter(|answer| answer[kind] == json!([])).count();
    assert!(without("hits") <= 5, "too many queries find nothing: {}", without("hits"));
    assert!(found.iter().any(|answer| answer["hits"] != answer["staged"]));
}

#[cfg(feature = "sqlite")]
#[test]
fn the_disk_gives_the_expected_hits() {
    use std::ops::ControlFlow;

    use headstart_code_index::{Store, StoreLimits, update};

    let place = tempfile::tempdir().unwrap();
    let store = Store::open(&place.path().join("index.sqlite"), StoreLimits::default()).unwrap().store;
    let project = project();
    block_on(update(&store, project.as_ref(), &|_| false, &mut |_| ControlFlow::Continue(()))).unwrap();
    let found = answers(&store.snapshot().unwrap(), &staged(&project));
    assert_same(&found, &expected(), "disk");
}
