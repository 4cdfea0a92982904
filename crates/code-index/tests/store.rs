//! The index on disk gives the same answers as the one in memory, is whole after its process was killed at any point,
//! and says so if it cannot be made.
#![cfg(feature = "sqlite")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "databases are damaged, filled and shared between processes here; what a helper cannot do stops the test"
)]

mod edits;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use headstart_code_index::{
    Budget, ContentFields, Entry, IndexError, MemoryIndex, Snapshot, Store, StoreLimits, View, whole,
};
use headstart_overlay_fs::WorkspacePath;
use proptest::prelude::*;

use self::edits::{ALL, Edit, WORDS, assert_same, content, edit, fresh, history, hits, path, play, queries};

fn open(path: &Path) -> Store {
    Store::open(path, StoreLimits::default()).expect("an index in a folder of its own").store
}

fn put(name: &str, text: &str) -> Entry {
    let path = path(name);
    Entry::Put { content: content(&path, text), path, stamp: String::new() }
}

fn paths_of(store: &Store) -> Vec<String> {
    let snapshot = store.snapshot().expect("a snapshot");
    snapshot.catalogue().paths().map(ToString::to_string).collect()
}

fn found(store: &Store, query: &str) -> Vec<String> {
    let snapshot = store.snapshot().expect("a snapshot");
    let view = View::new(&snapshot, []);
    hits(&view, query, Budget::default()).into_iter().map(|hit| hit.path.to_string()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_disk_answers_as_memory_does(edits in proptest::collection::vec(edit(), 1..40)) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("index.sqlite");
        let mut store = open(&file);
        let mut files = BTreeMap::new();
        for edit in &edits {
            match edit {
                Edit::Write(name, text) => drop(store.apply(&[put(name, text)]).unwrap()),
                Edit::Remove(name) => drop(store.apply(&[Entry::Remove { path: path(name) }]).unwrap()),
                Edit::Move(from, to) => {
                    if let Some(text) = files.get(from).cloned() {
                        let text: String = text;
                        store.apply(&[Entry::Remove { path: path(from) }, put(to, &text)]).unwrap();
                    }
                }
                Edit::Step => {
                    drop(store);
                    store = open(&file);
                }
            }
            play(&mut files, edit);
        }
        let subjects: Vec<_> = files.keys().map(|name| (path(name), history(name))).collect();
        store.set_history(subjects.iter().map(|(path, text)| (path, text.as_str()))).unwrap();
        let memory = fresh(&files);
        let snapshot = store.snapshot().unwrap();
        prop_assert_eq!(snapshot.catalogue().files(), files.len() as u64);
        prop_assert_eq!(snapshot.catalogue().chunks(), memory.catalogue().chunks());
        for query in queries() {
            assert_same(
                &hits(&View::new(&snapshot, []), &query, ALL),
                &hits(&View::new(&memory, []), &query, ALL),
                &query,
            );
        }
    }
}

#[test]
fn a_content_is_read_once_for_all_paths_and_branches() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("index.sqlite"));
    assert_eq!(store.apply(&[put("a.rs", "fn main() {}"), put("b.rs", "fn main() {}")]).unwrap().contents, 1);
    // Both files change to another branch, and one of them back.
    assert_eq!(store.apply(&[put("a.rs", "fn other() {}")]).unwrap().contents, 1);
    assert_eq!(store.apply(&[put("b.rs", "fn other() {}")]).unwrap().contents, 0);
    assert!(found(&store, "main").is_empty());
    assert_eq!(store.status().unwrap().unused_contents, 1);
    let back = store.apply(&[put("a.rs", "fn main() {}")]).unwrap();
    assert_eq!((back.put, back.contents), (1, 0));
    assert_eq!(found(&store, "main"), ["a.rs"]);
}

/// Contents that no path has are kept for a change of branch, but not more of them than the limit.
#[test]
fn what_is_not_used_goes_beyond_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let limits = StoreLimits { unused_contents: 2, ..StoreLimits::default() };
    let store = Store::open(&folder.path().join("index.sqlite"), limits).unwrap().store;
    for number in 0..10 {
        store.apply(&[put("a.rs", &format!("fn version_{number}() {{}}"))]).unwrap();
    }
    assert_eq!(store.status().unwrap().unused_contents, 2);
    assert_eq!(store.apply(&[put("a.rs", "fn version_8() {}")]).unwrap().contents, 0);
    assert_eq!(store.apply(&[put("a.rs", "fn version_1() {}")]).unwrap().contents, 1);
    assert_eq!(found(&store, "version_1"), ["a.rs"]);
    // Nothing is left of contents that were dropped: there are three contents with one definition each.
    let left = rusqlite::Connection::open(store.path()).unwrap();
    let count = |table: &str| -> i64 {
        left.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("content"), count("definition"), count("chunk_fts_docsize")), (3, 3, 3));
}

#[test]
fn many_small_writes_lose_nothing_when_they_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let limits = StoreLimits { unused_contents: 3, ..StoreLimits::default() };
    let store = Store::open(&folder.path().join("index.sqlite"), limits).unwrap().store;
    let mut files = BTreeMap::new();
    let mut state = 1_usize;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..600 {
        let name = format!("{}/{}.rs", WORDS[random(4)], random(12));
        if random(5) == 0 {
            store.apply(&[Entry::Remove { path: path(&name) }]).unwrap();
            files.remove(&name);
        } else {
            let lines = (0..random(60)).map(|_| match random(4) {
                0 => format!("pub fn {}_{}() {{}}", WORDS[random(12)], WORDS[random(12)]),
                _ => format!("{0} {0} {1}", WORDS[random(12)], WORDS[random(12)]),
            });
            let text = lines.collect::<Vec<_>>().join("\n");
            store.apply(&[put(&name, &text)]).unwrap();
            files.insert(name, text);
        }
        if round % 50 == 0 {
            store.tend().unwrap();
        }
    }
    let subjects: Vec<_> = files.keys().map(|name| (path(name), history(name))).collect();
    store.set_history(subjects.iter().map(|(path, text)| (path, text.as_str()))).unwrap();
    let memory = fresh(&files);
    let same = || {
        let snapshot = store.snapshot().unwrap();
        for query in queries() {
            let (disk, memory) = (View::new(&snapshot, []), View::new(&memory, []));
            assert_same(&hits(&disk, &query, ALL), &hits(&memory, &query, ALL), &query);
        }
    };
    same();
    store.compact().unwrap();
    same();
}

#[test]
fn what_was_taken_out_takes_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("index.sqlite"));
    let text = |number: usize| {
        (0..400).map(|word| format!("fn word{number}x{word}() {{}}")).collect::<Vec<_>>().join("\n")
    };
    let all: Vec<_> = (0..60).map(|number| put(&format!("{number}.rs"), &text(number))).collect();
    store.apply(&all).unwrap();
    store.compact().unwrap();
    let full = store.status().unwrap().bytes;
    assert_eq!(unused_pages(&store), 0);
    store.clean().unwrap();
    let empty = store.status().unwrap().bytes;
    assert_eq!(unused_pages(&store), 0);
    assert!(empty < full / 10, "{empty} of {full} bytes");
    // Unused pages are given back a few at a time by `Store::tend`, which runs where nobody waits.
    store.apply(&all).unwrap();
    rusqlite::Connection::open(store.path())
        .unwrap()
        .execute_batch("INSERT INTO chunk_fts (chunk_fts) VALUES ('delete-all')")
        .unwrap();
    let before = unused_pages(&store);
    assert!(64 < before, "{before}");
    store.tend().unwrap();
    assert_eq!(unused_pages(&store), before - 64);
}

fn unused_pages(store: &Store) -> i64 {
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    connection.query_row("PRAGMA freelist_count", [], |row| row.get(0)).unwrap()
}

/// Names are stored as numbers. Two names with the same number must not be confused.
#[test]
fn names_with_one_number_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("index.sqlite"));
    store.apply(&[put("a.rs", "fn alpha_one() {}"), put("b.rs", "fn x() {}\nfn beta_two() {}")]).unwrap();
    // The database is changed as if both names had the same number, because real names with the same number are too
    // rare to be found by trying.
    rusqlite::Connection::open(store.path())
        .unwrap()
        .execute_batch(
            "INSERT INTO definition SELECT one.name, other.content, other.symbol FROM definition AS one, definition AS other \
             WHERE one.content = 1 AND other.content = 2",
        )
        .unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut places = Vec::new();
    for name in ["alpha_one", "beta_two"] {
        snapshot
            .definitions(&whole(name), &mut |content, symbol| {
                places.push((content, symbol.name, symbol.first));
            })
            .unwrap();
    }
    assert_eq!(places, [(1, "alpha_one".to_owned(), 1), (2, "beta_two".to_owned(), 2)]);
}

#[test]
fn a_file_in_the_place_of_a_folder_hides_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("index.sqlite"));
    store.apply(&[put("a/b/c.rs", "one"), put("a/b0.rs", "two"), put("ab.rs", "three")]).unwrap();
    store.apply(&[Entry::Remove { path: path("a/b") }]).unwrap();
    assert_eq!(paths_of(&store), ["a/b0.rs", "ab.rs"]);
    store.apply(&[put("a", "a file now")]).unwrap();
    assert_eq!(paths_of(&store), ["a", "ab.rs"]);
}

#[test]
fn names_and_words_are_never_read_as_a_query() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("index.sqlite"));
    let names =
        ["a \"b\" OR c.rs", "x'; DROP TABLE file; --.rs", "new\nline.rs", "col:NEAR(a b).rs", "日本/語.rs"];
    let entries: Vec<_> = names.iter().map(|name| put(name, "fn needle() { \"AND OR NOT * ^\" }")).collect();
    store.apply(&entries).unwrap();
    let odd = WorkspacePath::from_bytes(b"caf\xe9.rs").unwrap();
    let content = Arc::new(ContentFields::of(&odd, b"fn needle() {}"));
    store.apply(&[Entry::Put { path: odd.clone(), content, stamp: "stamp".to_owned() }]).unwrap();
    assert_eq!(found(&store, "needle").len(), names.len() + 1);
    assert_eq!(store.stamps().unwrap()[&odd].text, "stamp");
    for query in
        ["\"", "needle AND", "* needle", "body:needle", "NEAR(needle)", "needle'; DROP TABLE file", "\0"]
    {
        let _ = found(&store, query);
    }
    assert_eq!(paths_of(&store).len(), names.len() + 1);
}

/// What the index must say afterwards, and how it is damaged before.
type Damage = (&'static str, fn(&Path));

/// An index that cannot be used is put aside with the reason and made anew, because everything in it can be computed
/// again.
#[test]
fn a_damaged_index_and_one_of_another_version_are_made_anew_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.sqlite");
    let begin = || {
        let store = open(&file);
        store.apply(&[put("a.rs", "fn main() {}")]).unwrap();
        store.compact().unwrap();
    };
    let damages: [Damage; 4] = [
        ("was made by another version (2)", |file| {
            let older = "DROP TABLE definition; DROP TABLE chunk_term; DROP TABLE chunk_fts; \
                CREATE TABLE symbol (content INTEGER NOT NULL REFERENCES content, whole TEXT, name TEXT NOT NULL); \
                CREATE VIRTUAL TABLE chunk_fts USING fts5 (body, header, content='', contentless_delete=1, tokenize='ascii'); \
                PRAGMA user_version = 2;";
            rusqlite::Connection::open(file).unwrap().execute_batch(older).unwrap();
        }),
        ("is damaged", |file| std::fs::write(file, "this is no database, whatever its name says").unwrap()),
        ("is damaged", |file| {
            let mut bytes = std::fs::read(file).unwrap();
            let end = bytes.len();
            bytes[100..end].fill(0x5a);
            std::fs::write(file, bytes).unwrap();
        }),
        ("was made by another version (77)", |file| {
            rusqlite::Connection::open(file).unwrap().pragma_update(None, "user_version", 77).unwrap();
        }),
    ];
    for (words, damage) in damages {
        let _ = std::fs::remove_file(&file);
        begin();
        damage(&file);
        let opened = Store::open(&file, StoreLimits::default()).unwrap();
        let told = opened.told.expect(words);
        assert!(told.contains(words) && told.contains("index.sqlite.aside"), "{told}");
        assert!(paths_of(&opened.store).is_empty());
        opened.store.apply(&[put("b.rs", "fn main() {}")]).unwrap();
        assert_eq!(found(&opened.store, "main"), ["b.rs"]);
    }
    assert!(Store::open(&file, StoreLimits::default()).unwrap().told.is_none());
}

#[cfg(unix)]
#[test]
fn only_its_owner_reads_an_index() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("deep/er/index.sqlite"));
    store.apply(&[put("a.rs", "fn main() {}")]).unwrap();
    for name in ["index.sqlite", "index.sqlite-wal"] {
        let metadata = std::fs::metadata(folder.path().join("deep/er").join(name)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
    }
}

/// A full index refuses new files, but searches still work.
#[test]
fn a_full_index_says_so_and_still_answers() {
    let folder = tempfile::tempdir().unwrap();
    let limits = StoreLimits { bytes: 512 << 10, ..StoreLimits::default() };
    let store = Store::open(&folder.path().join("index.sqlite"), limits).unwrap().store;
    store.apply(&[put("first.rs", "fn needle() {}")]).unwrap();
    let text =
        |number: usize| (0..2_000).map(|word| format!("word{number}x{word}")).collect::<Vec<_>>().join("\n");
    let error = (0..200).find_map(|number| store.apply(&[put(&format!("{number}.rs"), &text(number))]).err());
    let error = error.expect("the limit is far below what was written");
    assert!(error.is_full(), "{error}");
    assert_eq!(found(&store, "needle"), ["first.rs"]);
    store.clean().unwrap();
    store.apply(&[put("again.rs", "fn needle() {}")]).unwrap();
    assert_eq!(found(&store, "needle"), ["again.rs"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let error =
        Store::open(&folder.path().join("file/index.sqlite"), StoreLimits::default()).map(drop).unwrap_err();
    assert!(matches!(&error, IndexError::File { path, .. } if path.ends_with("index.sqlite")), "{error}");
}

#[test]
fn two_write_and_eight_read_and_nobody_sees_half_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.sqlite");
    drop(open(&file));
    std::thread::scope(|scope| {
        for writer in ["one", "two"] {
            let file = &file;
            scope.spawn(move || {
                let store = open(file);
                for round in 0..20 {
                    let text = format!("fn needle_{writer}_{round}() {{}}");
                    let batch: Vec<_> = (0..5).map(|at| put(&format!("{writer}/{at}.rs"), &text)).collect();
                    store.apply(&batch).expect("a write beside another");
                }
            });
        }
        for _ in 0..8 {
            let file = &file;
            scope.spawn(move || {
                let store = open(file);
                for _ in 0..20 {
                    let snapshot = store.snapshot().expect("a read beside writes");
                    let view = View::new(&snapshot, []);
                    let all = hits(&view, "needle", ALL);
                    assert!([0, 5, 10].contains(&all.len()), "{}", all.len());
                    for writer in ["one/", "two/"] {
                        let mut of_one: Vec<_> =
                            all.iter().filter(|hit| hit.path.to_string().starts_with(writer)).collect();
                        of_one.dedup_by_key(|hit| hit.digest);
                        assert!(of_one.len() <= 1, "files of two batches were seen together");
                    }
                }
            });
        }
    });
    assert_eq!(found(&open(&file), "needle").len(), 10);
}

const KILLED: &str = "HEADSTART_TEST_WRITES_UNTIL_KILLED";

/// Not a test of its own: `a_killed_process_leaves_whole_batches` runs it as the process that it kills.
#[test]
fn writes_until_it_is_killed() {
    let Some(file) = std::env::var_os(KILLED) else { return };
    let store = open(Path::new(&file));
    for round in 0_u64.. {
        let text =
            (0..200).map(|word| format!("fn needle_{round}_{word}() {{}}")).collect::<Vec<_>>().join("\n");
        let batch: Vec<_> = (0..5).map(|at| put(&format!("{at}.rs"), &text)).collect();
        store.apply(&batch).expect("a write");
        println!("round {round}");
    }
}

#[test]
fn a_killed_process_leaves_whole_batches() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.sqlite");
    for rounds in [1, 3, 2, 5, 4] {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writes_until_it_is_killed", "--nocapture"])
            .env(KILLED, &file)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let seen = lines.map_while(Result::ok).filter(|line| line.starts_with("round ")).take(rounds).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, rounds);

        let store = open(&file);
        assert_eq!(paths_of(&store).len(), 5);
        let snapshot = store.snapshot().unwrap();
        let view = View::new(&snapshot, []);
        let all = hits(&view, "needle", Budget { hits: 5, least: 0.0 });
        let digests: std::collections::BTreeSet<_> = all.iter().map(|hit| hit.digest).collect();
        assert_eq!((all.len(), digests.len()), (5, 1));
    }
    let check = rusqlite::Connection::open(&file).unwrap();
    let sound: String = check.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    check.execute("INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('integrity-check', 0)", []).unwrap();
}

const LIMITED: &str = "HEADSTART_TEST_LARGEST_FILE";

/// Not a test of its own: the process that the kernel kills in the middle of the write that makes a file too large.
#[test]
fn writes_until_a_file_is_too_large() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let (Some(file), Some(largest)) = (std::env::var_os(KILLED), std::env::var(LIMITED).ok()) else { return };
    let store = open(Path::new(&file));
    let largest = largest.parse().ok();
    setrlimit(Resource::Fsize, Rlimit { current: largest, maximum: largest }).unwrap();
    for round in 0_u64.. {
        let text =
            (0..40).map(|word| format!("fn needle_{round}_{word}() {{}}")).collect::<Vec<_>>().join("\n");
        let batch: Vec<_> = (0..5).map(|at| put(&format!("{at}.rs"), &text)).collect();
        store.apply(&batch).expect("a write");
        println!("round {round}");
    }
}

/// The number of `SIGXFSZ`, which a process gets for a write beyond the allowed file size. It ends the process at once,
/// as `SIGKILL` does.
const TOO_LARGE: i32 = 25;

fn killed_in_the_middle_of_a_write(largest: u64) {
    use std::os::unix::process::ExitStatusExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.sqlite");
    open(&file).apply(&[put("before.rs", "fn needle() {}")]).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writes_until_a_file_is_too_large", "--nocapture"])
        .env(KILLED, &file)
        .env(LIMITED, largest.to_string())
        .output()
        .unwrap();
    assert_eq!(child.status.signal(), Some(TOO_LARGE), "{largest}: {child:?}");
    let rounds =
        String::from_utf8_lossy(&child.stdout).lines().filter(|line| line.starts_with("round ")).count();

    let opened = Store::open(&file, StoreLimits::default()).unwrap();
    assert_eq!(opened.told, None, "{largest}");
    let mut paths = paths_of(&opened.store);
    assert!(paths.contains(&"before.rs".to_owned()), "{largest}");
    paths.retain(|path| path != "before.rs");
    // The last round that the process reported is stored, and nothing of a round that it had not reported.
    assert_eq!(paths.len(), if rounds == 0 { 0 } else { 5 }, "{largest}");
    if let Some(last) = rounds.checked_sub(1) {
        assert_eq!(found(&opened.store, &format!("needle_{last}_7")).len(), 5, "{largest}");
    }
    drop(opened);
    let check = rusqlite::Connection::open(&file).unwrap();
    let sound: String = check.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok", "{largest}");
    check.execute("INSERT INTO chunk_fts (chunk_fts, rank) VALUES ('integrity-check', 0)", []).unwrap();
}

#[test]
fn a_process_that_is_killed_in_the_middle_of_a_write_leaves_whole_batches() {
    // The process dies within a page, at the end of a page, and within a header of the log.
    for largest in [250_000, 262_144, 333_333, 500_010] {
        killed_in_the_middle_of_a_write(largest);
    }
}

#[test]
#[ignore = "a process for each of hundreds of places in the log: for the long checks"]
fn a_process_that_is_killed_at_any_write_leaves_whole_batches() {
    for largest in (200_000..900_000).step_by(1_031) {
        killed_in_the_middle_of_a_write(largest);
    }
}

#[test]
fn one_of_several_keeps_an_index_and_the_next_one_takes_it_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.sqlite");
    let (one, other) = (open(&file), open(&file));
    one.apply(&[put("a.rs", "fn needle() {}")]).unwrap();
    let generation = other.snapshot().unwrap().generation();
    assert!(one.lease("one", 1_000, 10_000).unwrap());
    assert!(!other.lease("other", 5_000, 10_000).unwrap());
    assert!(one.lease("one", 6_000, 10_000).unwrap());
    assert!(!other.lease("other", 16_000, 10_000).unwrap());
    // The first process has not renewed its lease for more than ten seconds.
    assert!(other.lease("other", 16_001, 10_000).unwrap());
    assert!(!one.lease("one", 16_002, 10_000).unwrap());
    // A clock that was set back must not lock anybody out.
    assert!(one.lease("one", 1, 10_000).unwrap());
    other.release("other").unwrap();
    assert!(!other.lease("other", 2, 10_000).unwrap());
    one.release("one").unwrap();
    assert!(other.lease("other", 3, 10_000).unwrap());
    other.tend().unwrap();
    // Leases do not count as changes, because a search does not see them.
    assert_eq!(other.snapshot().unwrap().generation(), generation);
}

#[test]
fn staged_work_lies_over_the_disk_as_over_memory() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder.path().join("index.sqlite"));
    // Two paths have the same content, and one of them is hidden.
    store
        .apply(&[put("a.rs", "fn needle() {}"), put("b.rs", "fn needle() {}"), put("c.rs", "fn other() {}")])
        .unwrap();
    let mut index = MemoryIndex::new();
    index.put(path("d.rs"), content(&path("d.rs"), "fn needle() {}"));
    let staged = headstart_code_index::Staged { index, hidden: vec![path("a.rs")] };
    let snapshot = store.snapshot().unwrap();
    let view = View::new(&snapshot, [&staged]);
    let mut anew = MemoryIndex::new();
    for (name, text) in [("b.rs", "fn needle() {}"), ("c.rs", "fn other() {}"), ("d.rs", "fn needle() {}")] {
        anew.put(path(name), content(&path(name), text));
    }
    for query in ["needle", "other", "rs"] {
        assert_same(&hits(&view, query, ALL), &hits(&View::new(&anew, []), query, ALL), query);
    }
}
