//! Random files and edits, and the comparison of hits that have to be equal after them.
#![allow(dead_code, clippy::allow_attributes, reason = "each test file uses a part of it")]

use std::collections::BTreeMap;
use std::sync::Arc;

use headstart_code_index::{Budget, ContentFields, Hit, MemoryIndex, Query, View, Weights, search};
use headstart_overlay_fs::WorkspacePath;
use proptest::prelude::*;

/// A budget that keeps every hit, however low its score is.
pub(crate) const ALL: Budget = Budget { hits: 1_000, least: 0.0 };

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).expect("a path inside the workspace")
}

pub(crate) fn content(path: &WorkspacePath, text: &str) -> Arc<ContentFields> {
    Arc::new(ContentFields::of(path, text.as_bytes()))
}

pub(crate) fn hits(view: &View<'_>, text: &str, budget: Budget) -> Vec<Hit> {
    let query = Query::parse(text, |path| view.has(path));
    search(view, &query, budget, &[], &Weights::default()).expect("memory does not fail")
}

/// The words that files, names and queries are made of. There are few, so that queries meet files.
pub(crate) const WORDS: [&str; 12] = [
    "parse",
    "query",
    "token",
    "index",
    "login",
    "retry",
    "cache",
    "stage",
    "commit",
    "overlay",
    "merge",
    "用户登录",
];

#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Write(String, String),
    Remove(String),
    Move(String, String),
    /// A new overlay is laid on top; later edits go into it.
    Step,
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    let word = || proptest::sample::select(&WORDS[..6]);
    prop_oneof![
        word().prop_map(|name| format!("{name}.rs")),
        (word(), word()).prop_map(|(folder, name)| format!("{folder}/{name}.rs")),
        (word(), word()).prop_map(|(folder, name)| format!("{folder}/in/{name}.md")),
    ]
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..8)
            .prop_map(|words| words.join(" ")),
        proptest::sample::select(&WORDS[..]).prop_map(|name| format!("pub fn {name}_{name}() {{}}")),
        Just("x".repeat(500)),
    ];
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

pub(crate) fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        6 => (name(), text()).prop_map(|(name, text)| Edit::Write(name, text)),
        2 => name().prop_map(Edit::Remove),
        1 => proptest::sample::select(&WORDS[..6]).prop_map(|folder| Edit::Remove(folder.to_owned())),
        2 => (name(), name()).prop_map(|(from, to)| Edit::Move(from, to)),
        1 => Just(Edit::Step),
    ]
}

pub(crate) fn is_below(name: &str, folder: &str) -> bool {
    path(name).starts_with(&path(folder))
}

/// Makes an edit on a plain map, which serves as the model.
pub(crate) fn play(files: &mut BTreeMap<String, String>, edit: &Edit) {
    match edit {
        Edit::Write(name, text) => drop(files.insert(name.clone(), text.clone())),
        Edit::Remove(name) => files.retain(|other, _| !is_below(other, name)),
        Edit::Move(from, to) => {
            if let Some(text) = files.remove(from) {
                files.insert(to.clone(), text);
            }
        }
        Edit::Step => {}
    }
}

pub(crate) fn fresh(files: &BTreeMap<String, String>) -> MemoryIndex {
    let mut index = MemoryIndex::new();
    for (name, text) in files {
        let path = path(name);
        index.set_history(&path, &history(name));
        index.put(path.clone(), content(&path, text));
    }
    index
}

/// The subjects of past commits for a path, one per line. They only depend on the name.
pub(crate) fn history(name: &str) -> String {
    WORDS.iter().filter(|word| name.len().is_multiple_of(word.len())).copied().collect::<Vec<_>>().join("\n")
}

pub(crate) fn put(index: &mut MemoryIndex, name: &str, text: &str) {
    let path = path(name);
    index.set_history(&path, &history(name));
    index.put(path.clone(), content(&path, text));
}

pub(crate) fn assert_same(one: &[Hit], other: &[Hit], query: &str) {
    let shown = |hits: &[Hit]| {
        let mut shown: Vec<_> =
            hits.iter().map(|hit| (hit.path.clone(), hit.lines, hit.symbol.clone(), hit.digest)).collect();
        shown.sort();
        shown
    };
    assert_eq!(shown(one), shown(other), "{query}");
    let score = |hits: &[Hit], wanted: &Hit| {
        hits.iter().find(|hit| hit.path == wanted.path && hit.lines == wanted.lines).map(|hit| hit.score)
    };
    for hit in one {
        let other = score(other, hit).expect("works because both have the same places");
        assert!((hit.score - other).abs() < 1e-4, "{query}: {hit:?} has {other} in the other index");
    }
}

pub(crate) fn queries() -> Vec<String> {
    let pairs = WORDS.iter().zip(WORDS.iter().skip(3)).map(|(one, other)| format!("{one} {other}"));
    WORDS.iter().map(ToString::to_string).chain(pairs).chain(["parse_parse".to_owned()]).collect()
}
