//! Vectors are kept with the contents, are compared with the vector of a query, and change the order by words only a
//! little.
#![cfg(feature = "sqlite")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "it measures time, and what a helper cannot do stops the test"
)]

mod edits;

use std::collections::HashSet;
use std::time::Instant;

use headstart_code_index::{
    Budget, Entry, MemoryIndex, NearChunk, Query, Snapshot as _, Staged, Store, StoreLimits, TextVector,
    Vector, View, Weights, WithoutVectors, search,
};

use self::edits::{content, path};

const MODEL: &str = "test";

fn open(folder: &tempfile::TempDir) -> Store {
    Store::open(&folder.path().join("index.sqlite"), StoreLimits::default()).unwrap().store
}

fn put(store: &Store, files: &[(&str, &str)]) {
    let entry = |(name, text): &(&str, &str)| {
        let path = path(name);
        Entry::Put { content: content(&path, text), path, stamp: String::new() }
    };
    store.apply(&files.iter().map(entry).collect::<Vec<_>>()).unwrap();
}

fn vector(numbers: &[f32]) -> Option<Vector> {
    Vector::of(numbers).unwrap()
}

fn without(store: &Store) -> Vec<WithoutVectors> {
    store.without_vectors(MODEL, 1_000, &HashSet::new()).unwrap()
}

/// Gives each file that has no vector yet the vector that `of` makes of its name.
fn embed(store: &Store, of: impl Fn(&str) -> Option<Vector>) -> Vec<String> {
    let wanted = without(store);
    let names = wanted.iter().map(|content| content.path.to_string()).collect();
    let vectors: Vec<_> = wanted
        .into_iter()
        .map(|content| {
            let list = content.chunks.iter().map(|_| of(&content.path.to_string())).collect();
            (content, list)
        })
        .collect();
    store.put_vectors(MODEL, &vectors).unwrap();
    names
}

fn nearest(store: &Store, model: &str, numbers: &[f32]) -> Vec<(String, f32)> {
    let snapshot = store.snapshot().unwrap();
    let meaning = TextVector { model: model.to_owned(), vector: vector(numbers).unwrap() };
    let found = snapshot.nearest(&meaning, 10).unwrap();
    let name = |near: &NearChunk| snapshot.catalogue().files_of_chunk(near.chunk).next().unwrap().to_string();
    found.iter().map(|near| (name(near), (near.similarity * 100.0).round() / 100.0)).collect()
}

/// A vector belongs to a content, so it is computed once for all paths and processes.
#[test]
fn a_content_gets_its_vectors_once_and_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    put(&store, &[("a.txt", "one\n"), ("b.txt", "two\n"), ("empty.txt", "")]);
    let of = |name: &str| if name == "a.txt" { vector(&[1.0, 0.0]) } else { vector(&[0.6, 0.8]) };
    assert_eq!(embed(&store, of), ["a.txt", "b.txt"]);
    assert_eq!(without(&store), []);
    let all = [("a.txt".to_owned(), 1.0), ("b.txt".to_owned(), 0.6)];
    assert_eq!(nearest(&store, MODEL, &[2.0, 0.0]), all);
    // The same content at another path and after a restart needs no new vector.
    put(&store, &[("c.txt", "one\n")]);
    drop(store);
    let store = open(&folder);
    assert_eq!(without(&store), []);
    let status = store.vector_status(MODEL).unwrap();
    assert_eq!((status.current, status.all, status.dimensions), (2, 2, Some(2)));
    // Only changed content gets a new vector, and content that is gone has none.
    put(&store, &[("b.txt", "three\n")]);
    assert_eq!(nearest(&store, MODEL, &[1.0, 0.0]).len(), 1);
    assert_eq!(embed(&store, |_| None), ["b.txt"]);
    assert_eq!(without(&store), []);
    // A text in which the model knows no token is not close to anything.
    assert!(nearest(&store, MODEL, &[0.0, 1.0])[1].1.abs() < 1e-6);
}

/// Vectors of different models or lengths are never compared with each other.
#[test]
fn vectors_are_of_one_model_and_of_one_length() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    put(&store, &[("a.txt", "one\n")]);
    embed(&store, |_| vector(&[1.0, 0.0]));
    assert_eq!(nearest(&store, "other", &[1.0, 0.0]), []);
    assert_eq!(nearest(&store, MODEL, &[1.0, 0.0, 0.0]), []);
    // A vector whose length differs from the first one of its model is not compared.
    put(&store, &[("b.txt", "two\n")]);
    embed(&store, |_| vector(&[1.0, 0.0, 0.0]));
    assert_eq!(nearest(&store, MODEL, &[1.0, 0.0])[1], ("b.txt".to_owned(), 0.0));
    assert_eq!(store.only_vectors_of(MODEL).unwrap(), Some(2));
    assert_eq!(store.only_vectors_of("other").unwrap(), None);
    assert_eq!(nearest(&store, MODEL, &[1.0, 0.0]), []);
    assert_eq!(without(&store).len(), 2);
    // After the index was emptied, the model may have vectors of another length.
    embed(&store, |_| vector(&[1.0]));
    store.clean().unwrap();
    put(&store, &[("a.txt", "one\n")]);
    embed(&store, |_| vector(&[1.0, 0.0]));
    assert_eq!(nearest(&store, MODEL, &[1.0, 0.0]).len(), 1);
}

/// A vector that comes too late, after its content was removed, is not stored.
#[test]
fn a_content_that_is_gone_meanwhile_gets_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.sqlite");
    let limits = StoreLimits { unused_contents: 0, ..StoreLimits::default() };
    let store = Store::open(&file, limits).unwrap().store;
    put(&store, &[("a.txt", "one\n")]);
    let wanted = without(&store);
    // The row of the removed content is free and is taken by another content, so the late vector must not be stored for
    // it.
    store.apply(&[Entry::Remove { path: path("a.txt") }]).unwrap();
    put(&store, &[("b.txt", "two\n")]);
    let late = wanted.into_iter().map(|content| (content, vec![vector(&[1.0, 0.0])])).collect::<Vec<_>>();
    store.put_vectors(MODEL, &late).unwrap();
    assert_eq!(nearest(&store, MODEL, &[1.0, 0.0]), []);
    assert_eq!(without(&store).len(), 1);
    // A content that the caller skips is not offered again.
    let skipped = without(&store).into_iter().map(|content| content.digest).collect();
    assert_eq!(store.without_vectors(MODEL, 10, &skipped).unwrap(), []);
}

#[test]
fn damaged_vectors_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    put(&store, &[("a.txt", "one\n"), ("b.txt", "two\n")]);
    embed(&store, |_| vector(&[1.0, 0.0]));
    let connection = rusqlite::Connection::open(folder.path().join("index.sqlite")).unwrap();
    connection.execute("UPDATE vector SET rows = x'7f' WHERE rowid = 1", []).unwrap();
    assert_eq!(nearest(&store, MODEL, &[1.0, 0.0]), [("b.txt".to_owned(), 1.0)]);
}

/// The files that a query finds if these chunks of the lowest layer are the closest ones by vectors.
fn found(view: &View<'_>, text: &str, near: &[u32]) -> Vec<String> {
    let near = near.iter().map(|chunk| NearChunk { chunk: *chunk, similarity: 0.9 }).collect();
    let query = Query::parse(text, |path| view.has(path)).with_nearest(near);
    let hits = search(view, &query, Budget::default(), &[], &Weights::default()).unwrap();
    assert!(hits.is_sorted_by(|one, other| one.score >= other.score), "{hits:?}");
    hits.into_iter().map(|hit| hit.path.to_string()).collect()
}

/// Vectors change the order of what the words found, and add a few more files, but a named definition comes first.
#[test]
fn vectors_move_what_words_found_and_add_a_little() {
    let names: Vec<String> = (0..12).map(|number| format!("other/{number:02}.txt")).collect();
    let mut files = vec![
        ("first.txt", "login of users\n"),
        ("later.txt", "a login much later of many many more words\n"),
    ];
    files.extend(names.iter().map(|name| (name.as_str(), "nothing of it\n")));
    files.push(("code.rs", "fn parse_query() {}\n"));
    let list: Vec<_> = files.iter().map(|(name, text)| (path(name), text.as_bytes())).collect();
    let index = MemoryIndex::of(list.iter().map(|(path, text)| (path, *text)));
    let chunk = |name: &str| index.catalogue().chunks_of(&path(name)).next().unwrap().0;
    let view = View::new(&index, []);
    assert_eq!(found(&view, "login", &[]), ["first.txt", "later.txt"]);
    // The file that is closest by vectors goes before one that is not close, and vectors add at most five files that
    // have none of the words.
    let others: Vec<u32> = names.iter().map(|name| chunk(name)).collect();
    let near: Vec<u32> = [chunk("later.txt")].into_iter().chain(others.iter().copied()).collect();
    let moved = found(&view, "the login", &near);
    assert_eq!(moved[..2], ["later.txt", "first.txt"]);
    assert_eq!(moved[2..], names[..5]);
    // If the query names a folder, files elsewhere are left out.
    assert_eq!(found(&view, "the login in other", &near), names[..5]);
    // If the query names a definition, vectors add nothing, because the name says exactly what is wanted.
    assert_eq!(found(&view, "parse_query", &near), ["code.rs"]);
    assert_eq!(found(&view, "how does `parse_query` read words", &near), ["code.rs"]);
    // Staged changes also hide what vectors would find.
    let staged = Staged { index: MemoryIndex::new(), hidden: vec![path("other"), path("later.txt")] };
    assert_eq!(found(&View::new(&index, [&staged]), "the login", &near), ["first.txt"]);
}

/// Measures the comparison of a query with as many vectors as an index may have.
#[test]
#[ignore = "fifty thousand vectors; the long checks run it"]
fn as_many_vectors_as_there_may_be_are_compared_in_some_milliseconds() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder);
    for batch in 0..50 {
        let files: Vec<(String, String)> =
            (0..1_000).map(|at| (format!("{batch}/{at}.txt"), format!("text {batch} {at}\n"))).collect();
        put(&store, &files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    }
    let mut seed = 1_u32;
    loop {
        let wanted = store.without_vectors(MODEL, 5_000, &HashSet::new()).unwrap();
        if wanted.is_empty() {
            break;
        }
        let mut numbers = || {
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 8) as f32 / (1 << 24) as f32 - 0.5
            };
            (0..384).map(|_| next()).collect::<Vec<f32>>()
        };
        let made: Vec<_> = wanted.into_iter().map(|content| (content, vec![vector(&numbers())])).collect();
        store.put_vectors(MODEL, &made).unwrap();
    }
    let meaning = TextVector { model: MODEL.to_owned(), vector: vector(&[0.5; 384]).unwrap() };
    let snapshot = store.snapshot().unwrap();
    snapshot.nearest(&meaning, 200).unwrap();
    let start = Instant::now();
    let found = snapshot.nearest(&meaning, 200).unwrap();
    let took = start.elapsed();
    drop(snapshot);
    println!("{} of 50,000 vectors in {took:?}, {} bytes", found.len(), store.status().unwrap().bytes);
    assert_eq!(found.len(), 200);
    // One more vector exceeds the limit, so it is not made and is reported as left out.
    put(&store, &[("more.txt", "more\n")]);
    assert_eq!(without(&store), []);
    assert_eq!(store.vector_status(MODEL).unwrap().left_out(), 1);
}
