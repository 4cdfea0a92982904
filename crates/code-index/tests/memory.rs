//! The index in memory, and a search over it with staged changes.

mod edits;

use std::collections::BTreeMap;
use std::sync::Arc;

use headstart_code_index::{
    Budget, ContentFields, MemoryIndex, Query, Snapshot, Staged, View, Weights, repo_map, search,
};
use headstart_overlay_fs::WorkspacePath;
use proptest::prelude::*;

use self::edits::{ALL, Edit, assert_same, content, edit, fresh, hits, name, path, play, put, queries, text};

fn index(files: &[(&str, &str)]) -> MemoryIndex {
    let files: Vec<_> = files.iter().map(|(name, text)| (path(name), text.as_bytes())).collect();
    MemoryIndex::of(files.iter().map(|(path, text)| (path, *text)))
}

fn found(index: &MemoryIndex, text: &str) -> Vec<String> {
    let view = View::new(index, []);
    hits(&view, text, Budget::default()).into_iter().map(|hit| hit.path.to_string()).collect()
}

/// A question in Chinese finds the code by its Chinese comments, but not files that only share single characters.
#[test]
fn a_question_in_chinese_finds_comments_in_chinese() {
    let index = index(&[
        (
            "src/auth/auth.service.ts",
            "// 用户登录：验证用户名和密码\nexport class AuthService {\n  login() {}\n}\n",
        ),
        ("src/auth/jwt.strategy.ts", "// 验证令牌的流程\nexport class JwtStrategy {}\n"),
        ("src/user/user.controller.ts", "// 用户资料\nexport class UserController {}\n"),
        ("src/cart.ts", "// 购物车的价格计算\nexport const total = 1;\n"),
        ("src/mail.ts", "export function sendMail() {}\n"),
    ]);
    for query in ["用户登录验证流程", "请帮我理解用户登录验证流程在哪里实现的"] {
        let found = found(&index, query);
        assert_eq!(found.first().map(String::as_str), Some("src/auth/auth.service.ts"), "{query}");
        assert!(found.contains(&"src/auth/jwt.strategy.ts".to_owned()), "{found:?}");
        assert!(
            !found.iter().any(|path| path.ends_with("cart.ts") || path.ends_with("mail.ts")),
            "{found:?}"
        );
    }
}

#[test]
fn a_name_is_found_where_it_is_defined() {
    let uses = "fn main() {\n    parse_query(1);\n    parse_query(2);\n    parse_query(3);\n}\n";
    let index = index(&[
        ("src/a.rs", uses),
        ("src/b.rs", "fn other() {}\n\npub fn parse_query(x: u8) {}\n"),
        ("src/parse_query.md", "parse_query parse_query parse_query\n"),
    ]);
    if cfg!(feature = "grammars") {
        for query in
            ["parse_query", "where is parse_query defined?", "how does the parse_query function work"]
        {
            assert_eq!(found(&index, query)[0], "src/b.rs", "{query}");
        }
    }
    let view = View::new(&index, []);
    let first = &hits(&view, "parse_query", ALL)[0];
    assert!(first.why.iter().any(|why| why.term == "parsequeri" && 0.0 < why.part), "{first:?}");
}

/// A folder or an ending in a query leaves everything else out.
#[test]
fn places_and_endings_leave_the_rest_out() {
    let index = index(&[
        ("src/auth/login.rs", "fn login() {}\n"),
        ("src/authors/login.rs", "fn login() {}\n"),
        ("docs/login.md", "# login\n"),
        ("LOGIN", "login\n"),
    ]);
    assert_eq!(found(&index, "login in src/auth"), ["src/auth/login.rs"]);
    assert_eq!(found(&index, "login in .md files"), ["docs/login.md"]);
    assert_eq!(found(&index, "login").len(), 4);
    let below = Query::parse("login", |_| false).below(path("docs"));
    let view = View::new(&index, []);
    let hits = search(&view, &below, ALL, &[], &Weights::default()).unwrap();
    assert_eq!(hits.len(), 1);
}

/// Words of past commits find the files that they touched, and of two equally good files the recently changed one is
/// first.
#[test]
fn past_commits_and_recent_changes_count() {
    let mut index = index(&[("a.rs", "fn one() {}\n"), ("b.rs", "fn two() {}\n"), ("c.rs", "fn two() {}\n")]);
    assert!(found(&index, "flaky deadlock").is_empty());
    index.set_history(&path("a.rs"), "Mend a flaky deadlock");
    assert_eq!(found(&index, "flaky deadlock"), ["a.rs"]);
    index.put(path("a.rs"), content(&path("a.rs"), "fn changed() {}\n"));
    assert_eq!(found(&index, "flaky deadlock"), ["a.rs"]);

    let view = View::new(&index, []);
    let query = Query::parse("two", |_| false);
    let first = |recent: &[(WorkspacePath, f32)]| {
        search(&view, &query, ALL, recent, &Weights::default()).unwrap()[0].path.to_string()
    };
    assert_eq!(first(&[]), "b.rs");
    assert_eq!(first(&[(path("c.rs"), 1.0)]), "c.rs");
}

/// The chunks of one long file must not fill the first places of an answer.
#[test]
fn each_file_comes_once_before_any_comes_twice() {
    let part = |word: &str| format!("# {word}\n\nneedle {}\n\n", "filler words here\n".repeat(70));
    let long = [part("one"), part("two"), part("three")].concat();
    let index = index(&[("long.md", &long), ("short.md", "needle\n")]);
    let view = View::new(&index, []);
    let hits = hits(&view, "needle", ALL);
    let paths: Vec<_> = hits.iter().map(|hit| hit.path.to_string()).collect();
    assert_eq!(paths[..2].iter().filter(|path| *path == "long.md").count(), 1, "{paths:?}");
    assert!(2 <= hits.len());
    for hit in &hits {
        assert!(1 <= hit.lines.0 && hit.lines.0 <= hit.lines.1);
    }
}

#[test]
fn hostile_files_are_indexed_without_harm() {
    let names =
        ["a \"b\".rs", "new\nline.rs", "-rf", "NEAR(a b)", "über/日本.rs", "*", "'; drop table file; --"];
    let mut index = MemoryIndex::new();
    for name in names {
        let path = path(name);
        index.put(path.clone(), content(&path, "fn needle() {}\n"));
    }
    let odd = WorkspacePath::from_bytes(b"caf\xe9.rs").unwrap();
    index.put(odd.clone(), Arc::new(ContentFields::of(&odd, b"fn needle() { \xff\xfe }\n")));
    let line = "needle ".repeat(1_500_000);
    for (name, bytes) in
        [("long.rs", line.as_bytes()), ("bin", b"needle\0"), ("deep.rs", "((((".repeat(200_000).as_bytes())]
    {
        index.put(path(name), Arc::new(ContentFields::of(&path(name), bytes)));
    }
    let view = View::new(&index, []);
    assert_eq!(hits(&view, "needle", ALL).len(), names.len() + 1);
    // A binary file is found by its path alone.
    let bin = hits(&view, "bin", ALL);
    assert_eq!((bin.len(), bin[0].lines), (1, (0, 0)));
    for query in ["", "\"", "a AND", &"x".repeat(100_000), &"words of it ".repeat(10_000), "\0", "* ( NEAR"] {
        let _ = hits(&view, query, ALL);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// For all edits: an index that was changed step by step equals one that is made anew.
    #[test]
    fn edits_leave_the_index_that_is_made_anew(edits in proptest::collection::vec(edit(), 1..60)) {
        let (mut files, mut index) = (BTreeMap::new(), MemoryIndex::new());
        for edit in &edits {
            match edit {
                Edit::Write(name, text) => put(&mut index, name, text),
                Edit::Remove(name) => index.remove(&path(name)),
                Edit::Move(from, to) => {
                    if let Some(text) = files.get(from).cloned() {
                        let text: String = text;
                        index.remove(&path(from));
                        put(&mut index, to, &text);
                    }
                }
                Edit::Step => {}
            }
            play(&mut files, edit);
        }
        let anew = fresh(&files);
        prop_assert_eq!(index.catalogue().files(), anew.catalogue().files());
        prop_assert_eq!(index.catalogue().chunks(), anew.catalogue().chunks());
        for query in queries() {
            assert_same(
                &hits(&View::new(&index, []), &query, ALL),
                &hits(&View::new(&anew, []), &query, ALL),
                &query,
            );
        }
    }

    /// For all edits in all layers: a search over staged work gives the hits of an index of all the files.
    #[test]
    fn staged_work_is_found_as_if_it_were_there(
        start in proptest::collection::vec((name(), text()), 0..12),
        edits in proptest::collection::vec(edit(), 1..24),
    ) {
        let mut files: BTreeMap<String, String> = start.into_iter().collect();
        let base = fresh(&files);
        let mut steps = vec![Staged::default()];
        for edit in &edits {
            let step = steps.last_mut().unwrap();
            let hide = |step: &mut Staged, name: &str| {
                step.index.remove(&path(name));
                step.hidden.push(path(name));
            };
            match edit {
                Edit::Write(name, text) => put(&mut step.index, name, text),
                Edit::Remove(name) => hide(step, name),
                Edit::Move(from, to) => {
                    if let Some(text) = files.get(from).cloned() {
                        hide(step, from);
                        put(&mut step.index, to, &text);
                    }
                }
                Edit::Step => steps.push(Staged::default()),
            }
            play(&mut files, edit);
        }
        let view = View::new(&base, &steps);
        let anew = fresh(&files);
        prop_assert_eq!(view.files(), files.len() as u64);
        for query in queries() {
            assert_same(&hits(&view, &query, ALL), &hits(&View::new(&anew, []), &query, ALL), &query);
        }
    }
}

/// The map of a project begins with the file whose definitions most other files use.
#[test]
fn the_map_begins_with_what_others_rest_on() {
    let index = index(&[
        ("a/user.kt", "class UserOne {\n  fun run() { Storage() }\n}\n"),
        ("a/other.kt", "class UserTwo {\n  fun run() { Storage() }\n}\n"),
        ("b/storage.kt", "class Storage {\n  fun save() {}\n}\n"),
        ("b/notes.md", "Storage\n"),
    ]);
    let view = View::new(&index, []);
    let map = repo_map(&view, &WorkspacePath::root(), 10_000, &|_| false).unwrap();
    assert!(map.starts_with("b/storage.kt\n 1: type Storage\n 2: function save\n"), "{map}");
    assert!(map.contains("a/user.kt\n") && !map.contains("notes.md"), "{map}");
    assert!(!repo_map(&view, &path("a"), 10_000, &|_| false).unwrap().contains("storage.kt"));
    assert_eq!(repo_map(&view, &WorkspacePath::root(), 10, &|_| false).unwrap(), "");

    // What is staged as removed does not appear in the map.
    let staged = Staged { index: MemoryIndex::new(), hidden: vec![path("b")] };
    let view = View::new(&index, [&staged]);
    assert!(!repo_map(&view, &WorkspacePath::root(), 10_000, &|_| false).unwrap().contains("storage"));
}

/// Of a long text the rarest words count, wherever they stand.
#[test]
fn a_long_text_is_compared_by_the_words_that_tell_most() {
    let letters = || 'a'..='j';
    let words = letters().flat_map(|one| letters().map(move |other| format!("common{one}{other}")));
    let common = words.collect::<Vec<_>>().join(" ");
    let files: Vec<_> = ('a'..='z').map(|at| (path(&format!("{at}.rs")), format!("// {common}\n"))).collect();
    let rare = (path("rare.rs"), "// the flange\n".to_owned());
    let all = files.iter().chain([&rare]);
    let index = MemoryIndex::of(all.map(|(path, text)| (path, text.as_bytes())));
    let view = View::new(&index, []);
    let query = Query::parse(&format!("{common}\n{common} flange"), |path| view.has(path));
    let hits = search(&view, &query, Budget { hits: 100, least: 0.0 }, &[], &Weights::default()).unwrap();
    assert!(hits.iter().any(|hit| hit.path == rare.0), "{} hits", hits.len());
}

/// A question about behaviour is answered by source before tests, texts and what came from elsewhere; one about tests
/// by tests.
#[test]
fn source_comes_first_unless_something_else_is_asked_for() {
    let text = "// retry_payment\n";
    let names = ["src/pay.rs", "tests/pay.rs", "docs/pay.md", "vendor/pay.rs"];
    let files: Vec<_> = names.iter().map(|name| (path(name), text)).collect();
    let index = MemoryIndex::of(files.iter().map(|(path, text)| (path, text.as_bytes())));
    let view = View::new(&index, []);
    let first = |text: &str| {
        let query = Query::parse(text, |path| view.has(path));
        let hits = search(&view, &query, Budget::default(), &[], &Weights::default()).unwrap();
        hits[0].path.to_string()
    };
    assert_eq!(first("where are payments retried"), "src/pay.rs");
    assert_eq!(first("where are retried payments tested"), "tests/pay.rs");
    assert_eq!(first("docs of retried payments"), "docs/pay.md");
}
