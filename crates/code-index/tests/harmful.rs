//! Four plausible designs of a search over a project that do harm. Each is modelled in a few lines and compared with
//! the design that this crate has instead.
#![cfg(feature = "sqlite")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "it looks at a database on disk; what a helper cannot do stops the test"
)]

mod edits;

use std::path::{Path, PathBuf};

use headstart_code_index::{
    Budget, Entry, MemoryIndex, NearChunk, Query, Recent, Snapshot as _, Store, StoreLimits, View, Weights,
    search,
};
use rusqlite::{Connection, StatementStatus};

use self::edits::{content, path};

type Files = Vec<(String, String)>;

/// A project whose latest work was about its looks: thirty style sheets were edited last.
fn project() -> Files {
    let sheets =
        (0..30).map(|at| (format!("looks/{at:02}.css"), format!(".button-{at} {{ color: red; }}\n")));
    let code = [
        ("net/retry.rs", "/// How often a request is sent once more.\npub fn count_retries() {}\n"),
        (
            "net/request.rs",
            "use super::retry::count_retries;\nfn send() { count_retries(); count_retries(); }\n",
        ),
        ("net/answer.rs", "/// Reads what a server answers, error 404 and all.\npub fn read_answer() {}\n"),
        ("users/login.rs", "/// Lets a user log in by the user's password.\npub fn login() {}\n"),
        ("text/parse.rs", "/// Reads a query of a user's.\npub fn parse_query(text: &str) {}\n"),
    ];
    let code = code.map(|(name, text)| (name.to_owned(), text.to_owned()));
    sheets.chain(code).collect()
}

fn index(files: &Files) -> MemoryIndex {
    let files: Vec<_> = files.iter().map(|(name, text)| (path(name), text.as_bytes())).collect();
    MemoryIndex::of(files.iter().map(|(path, text)| (path, *text)))
}

fn found(view: &View<'_>, query: &Query, recent: Recent<'_>) -> Vec<String> {
    let hits = search(view, query, Budget::default(), recent, &Weights::default()).unwrap();
    hits.into_iter().map(|hit| hit.path.to_string()).collect()
}

/// A search must not put all recently edited files first, because a user who begins another task asks for files that
/// they did not edit last.
#[test]
fn recent_files_before_all_others_hide_what_is_asked_for() {
    let files = project();
    let recent: Vec<String> = files.iter().map(|(name, _)| name.clone()).take(30).collect();
    let index = index(&files);
    let view = View::new(&index, []);
    let by_words = |text: &str| found(&view, &Query::parse(text, |path| view.has(path)), &[]);
    // The modelled design searches level by level, and the first level that fills the answer ends the search.
    let levels = |text: &str| -> Vec<String> {
        let most = Budget::default().hits;
        let mut answer: Vec<String> = recent.iter().take(most).cloned().collect();
        if answer.len() < most {
            answer.extend(by_words(text));
        }
        answer
    };
    let edited: Vec<_> = recent.iter().map(|name| (path(name), 1.0)).collect();
    for (text, wanted) in [
        ("how often is it sent once more", "net/retry.rs"),
        ("where does a user log in", "users/login.rs"),
        ("read what a server answers", "net/answer.rs"),
    ] {
        assert!(!levels(text).iter().any(|name| name == wanted), "{text}");
        let ours = found(&view, &Query::parse(text, |path| view.has(path)), &edited);
        assert_eq!(ours[0], wanted, "{text}");
        assert!(
            !ours.iter().any(|name| name.starts_with("looks/")),
            "what does not fit is not there: {ours:?}"
        );
    }
    // A recent edit only decides between files that fit equally well: the edited one goes first.
    let query = Query::parse("color of a button", |_| false);
    let edited = [(path("looks/29.css"), 1.0)];
    assert_eq!(found(&view, &query, &edited)[0], "looks/29.css");
    assert_eq!(found(&view, &query, &[])[0], "looks/00.css");
}

/// A question is never read as a query of the database, because people write apostrophes, brackets, paths and words
/// such as "not", and in a query language each of them has a meaning.
#[test]
fn a_users_own_words_are_no_query_of_the_database() {
    const ASKED: [(&str, &str); 8] = [
        ("where is the user's password read?", "users/login.rs"),
        ("what does parse_query(text) do?", "text/parse.rs"),
        ("why does error 404 (not found) end in read_answer()?", "net/answer.rs"),
        ("retries: how often is a request sent?", "net/retry.rs"),
        ("\"count_retries", "net/retry.rs"),
        ("look at users/login.rs, please", "users/login.rs"),
        ("login AND", "users/login.rs"),
        ("read a query NOT parsed", "text/parse.rs"),
    ];
    let files = project();
    let table = Connection::open_in_memory().unwrap();
    table
        .execute_batch("CREATE VIRTUAL TABLE file USING fts5 (name, text, tokenize = 'porter unicode61')")
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("index.sqlite"), StoreLimits::default()).unwrap().store;
    for (name, text) in &files {
        table.execute("INSERT INTO file VALUES (?1, ?2)", [name, text]).unwrap();
    }
    store.apply(&files.iter().map(|(name, text)| put(name, text)).collect::<Vec<_>>()).unwrap();
    let as_query = |text: &str| -> rusqlite::Result<Vec<String>> {
        let mut statement = table.prepare("SELECT name FROM file WHERE file MATCH ?1 ORDER BY rank")?;
        statement.query_map([text], |row| row.get(0))?.collect()
    };
    let (mut broken, mut empty) = (0, 0);
    for (text, wanted) in ASKED {
        match as_query(text) {
            Err(_) => broken += 1,
            Ok(names) => {
                empty += 1;
                assert!(!names.iter().any(|name| name == wanted), "{text}: {names:?}");
            }
        }
        let snapshot = store.snapshot().unwrap();
        let view = View::new(&snapshot, []);
        let ours = found(&view, &Query::parse(text, |path| view.has(path)), &[]);
        assert_eq!(ours.first().map(String::as_str), Some(wanted), "{text}: {ours:?}");
    }
    assert_eq!(broken + empty, ASKED.len());
    assert!(ASKED.len() / 2 < broken, "{broken} of {} are errors of the database", ASKED.len());
}

/// Vectors must not outweigh a name in the query, because a name says exactly what is wanted, while vectors find what
/// is merely similar.
#[test]
fn vectors_that_count_as_much_as_words_bury_a_definition() {
    let files = project();
    let index = index(&files);
    let view = View::new(&index, []);
    let chunk = |name: &str| index.catalogue().chunks_of(&path(name)).next().unwrap().0;
    // A model of embeddings finds code that uses a name as close to it as the code that defines it.
    let near = ["net/request.rs", "net/answer.rs", "users/login.rs", "text/parse.rs", "net/retry.rs"];
    let equal = |words: &[String]| -> Vec<String> {
        let share = |place: Option<usize>| place.map_or(0.0, |place| 1.0 / (61.0 + place as f64));
        let mut all: Vec<&str> = words.iter().map(String::as_str).chain(near).collect();
        all.sort_unstable();
        all.dedup();
        let score = |name: &str| {
            share(words.iter().position(|word| word == name))
                + share(near.iter().position(|other| *other == name))
        };
        all.sort_by(|one, other| score(other).total_cmp(&score(one)));
        all.into_iter().map(str::to_owned).collect()
    };
    for text in ["count_retries", "where is count_retries defined?"] {
        let query = || Query::parse(text, |path| view.has(path));
        let words = found(&view, &query(), &[]);
        assert_eq!(words[0], "net/retry.rs", "{text}");
        assert_ne!(equal(&words)[0], "net/retry.rs", "{text}: what uses it has taken its place");
        let nearest = near.map(|name| NearChunk { chunk: chunk(name), similarity: 0.9 }).to_vec();
        assert_eq!(found(&view, &query().with_nearest(nearest), &[]), words, "{text}: vectors have no say");
    }
    assert!(Weights::default().vectors < 1.0, "and elsewhere less than words");
}

/// Removed files must not be found by deleting everything that a list of the present files does not name. That design
/// trusts the list, reads everything to drop one file, and gives the room back only by writing the whole database anew.
#[test]
fn what_is_gone_is_not_found_by_a_list_of_all_that_is_there() {
    const FILES: usize = 2_000;
    const ALL: i64 = 2_000;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("listed.sqlite");
    let listed = Connection::open(&file).unwrap();
    let sql = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE chunk (id INTEGER PRIMARY KEY, path TEXT, text TEXT); \
               CREATE TABLE listing (path TEXT)";
    listed.execute_batch(sql).unwrap();
    let names: Vec<String> = (0..FILES).map(|at| format!("src/{at:04}.rs")).collect();
    let text = |at: usize| format!("pub fn number_{at}() {{}}\n// {}\n", "words of it ".repeat(40));
    listed.execute_batch("BEGIN").unwrap();
    for (at, name) in names.iter().enumerate() {
        listed.execute("INSERT INTO chunk (path, text) VALUES (?1, ?2)", [name, &text(at)]).unwrap();
    }
    listed.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let stale = "DELETE FROM chunk WHERE path NOT IN (SELECT path FROM listing)";
    let left = || -> i64 { listed.query_row("SELECT count(*) FROM chunk", [], |row| row.get(0)).unwrap() };
    let list = |names: &[Option<&str>]| {
        listed.execute_batch("DELETE FROM listing; BEGIN").unwrap();
        for name in names {
            listed.execute("INSERT INTO listing VALUES (?1)", [name]).unwrap();
        }
        listed.execute_batch("COMMIT").unwrap();
    };

    // If the list has one name that is not known, nothing is ever deleted.
    list(&[Some("src/0000.rs"), None]);
    listed.execute(stale, []).unwrap();
    assert_eq!(left(), ALL);
    // If the listing was stopped half-way, half of the index is deleted.
    let half: Vec<_> = names.iter().take(FILES / 2).map(|name| Some(name.as_str())).collect();
    list(&half);
    listed.execute_batch("SAVEPOINT before").unwrap();
    listed.execute(stale, []).unwrap();
    assert_eq!(left(), ALL / 2);
    listed.execute_batch("ROLLBACK TO before; RELEASE before").unwrap();
    // If one file is removed, the work is that of all files, and the room only comes back if the whole database is
    // written.
    let all_but_one: Vec<_> = names.iter().skip(1).map(|name| Some(name.as_str())).collect();
    list(&all_but_one);
    let mut statement = listed.prepare(stale).unwrap();
    statement.execute([]).unwrap();
    assert!(FILES < usize::try_from(statement.get_status(StatementStatus::VmStep)).unwrap());
    drop(statement);
    assert_eq!(left(), ALL - 1);
    listed.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM").unwrap();
    let whole = size(&file);
    assert!(whole / 2 < size(&beside(&file)), "{} of {whole} bytes are written anew", size(&beside(&file)));

    // In the design of this crate a removed path is reported as removed, its content is deleted by its number, and free
    // pages are given back a few at a time.
    let file = folder.path().join("index.sqlite");
    let limits = StoreLimits { unused_contents: 0, ..StoreLimits::default() };
    let store = Store::open(&file, limits).unwrap().store;
    store
        .apply(&names.iter().enumerate().map(|(at, name)| put(name, &text(at))).collect::<Vec<_>>())
        .unwrap();
    store.compact().unwrap();
    let (whole, before) = (size(&file), size(&beside(&file)));
    store.apply(&[Entry::Remove { path: path(&names[0]) }]).unwrap();
    store.tend().unwrap();
    let written = size(&beside(&file)) - before;
    assert!(written < whole / 10, "{written} of {whole} bytes");
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.catalogue().paths().count(), FILES - 1);
    let view = View::new(&snapshot, []);
    let of = |at: usize| found(&view, &Query::parse(&format!("number_{at}"), |_| false), &[]);
    assert!(!of(0).contains(&names[0]));
    assert_eq!(of(1).first(), Some(&names[1]));
}

fn put(name: &str, text: &str) -> Entry {
    let path = path(name);
    Entry::Put { content: content(&path, text), path, stamp: String::new() }
}

fn size(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |data| data.len())
}

/// The write-ahead log: what a database has written and not yet moved into its file.
fn beside(file: &Path) -> PathBuf {
    file.with_extension("sqlite-wal")
}
