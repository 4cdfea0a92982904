//! The tools `grep` and `glob`: what they find, and what they leave out.

use std::sync::Arc;

use crate::session::{Session, lines, path, tree};
use futures::executor::block_on;
use serde_json::json;

#[test]
fn grep_shows_path_line_and_text() {
    let mut session = Session::new(&[
        ("a.txt", "needle at the top\nhay\nNeedle\n"),
        ("a/z.rs", "let needle = 1;\r\n"),
        ("a-b.txt", "two needles\nneedle again"),
        ("bom.txt", "\u{feff}needle first\n"),
        ("link.txt -> a.txt", ""),
        ("linked -> a", ""),
        ("picture", "needle\0"),
    ]);
    for args in [
        json!({"pattern": "needle"}),
        json!({"pattern": "(?i)^needle$"}),
        json!({"pattern": r"needle\b.*[0-9];$"}),
        json!({"pattern": "needle", "path": "a"}),
        json!({"pattern": "needle", "path": "linked"}),
        json!({"pattern": "needle", "path": "a-b.txt"}),
        json!({"pattern": "needle", "glob": "*.rs"}),
        json!({"pattern": "needle", "glob": "a/**"}),
        json!({"pattern": "needle", "glob": "!*.txt"}),
        json!({"pattern": "needle", "path": "a", "glob": "a/*.rs"}),
        json!({"pattern": "needle", "path": "a", "glob": "./z.{rs,py}"}),
        json!({"pattern": "absent"}),
        json!({"pattern": "needle", "path": "picture"}),
        json!({"pattern": "needle", "path": "missing"}),
        json!({"pattern": "a(b"}),
        json!({"pattern": "a\\nb"}),
        json!({"pattern": "needle", "glob": "a["}),
    ] {
        let _ = session.call("grep", args);
    }
    // The two engines describe an invalid pattern in different words, so these are left out.
    let transcript = session.transcript();
    let (before, after) = transcript.split_once("regular expression (").unwrap();
    let (_, after) = after.split_once("); put").unwrap();
    insta::assert_snapshot!(format!("{before}regular expression (…); put{after}"));
}

#[test]
fn glob_finds_paths() {
    let mut session = Session::new(&[
        ("main.rs", ""),
        ("src/lib.rs", ""),
        ("src/a/b/deep.rs", ""),
        ("src/a/style.css", ""),
        ("src.rs", ""),
        ("link.rs -> main.rs", ""),
        ("linked -> src", ""),
        (".github/workflows/ci.yml", ""),
        (".gitignore", "/target\n"),
        ("target/debug/x.d", ""),
    ]);
    for args in [
        json!({"pattern": "*.rs"}),
        json!({"pattern": "**/*.rs"}),
        json!({"pattern": "src/*.rs"}),
        json!({"pattern": "**/*.{css,yml}"}),
        json!({"pattern": "./src/**/[a-d]*.rs"}),
        json!({"pattern": "*.rs", "path": "src"}),
        json!({"pattern": "**", "path": "linked"}),
        json!({"pattern": "/home/ada/project/src/*.rs"}),
        json!({"pattern": "target/debug/*.d"}),
        json!({"pattern": "./linked/a//*.css"}),
        json!({"pattern": "src/lib.rs"}),
        json!({"pattern": "src/{lib,main}.rs"}),
        json!({"pattern": "src/none/*.rs"}),
        json!({"pattern": "src/lib.rs/*.rs"}),
        json!({"pattern": "/etc/*.conf"}),
        json!({"pattern": "src/../../*.rs"}),
        json!({"pattern": "*.py"}),
        json!({"pattern": "../*.rs"}),
        json!({"pattern": ""}),
        json!({"pattern": "a["}),
        json!({"pattern": "*", "path": "main.rs"}),
        json!({"pattern": "*", "path": "missing"}),
    ] {
        let _ = session.call("glob", args);
    }
    insta::assert_snapshot!(session.transcript());
}

/// The paths that a search of these files sees.
fn found_files(files: &[(&str, &str)], start: &str) -> Vec<String> {
    let mut session = Session::new(files);
    let found = session.ok("glob", json!({"pattern": "**", "path": start}));
    let paths = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with('[')).map(str::to_owned).collect()
    };
    // grep sees the same files.
    let grep = session.ok("grep", json!({"pattern": "^", "path": start}));
    let mut lines: Vec<String> =
        paths(&grep).iter().filter_map(|line| line.split(':').next().map(str::to_owned)).collect();
    lines.dedup();
    // `glob` lists links, but `grep` does not search them.
    let is_link = |path: &String| {
        files
            .iter()
            .any(|(name, _)| name.split(" -> ").next() != Some(name) && name.starts_with(path.as_str()))
    };
    let found: Vec<String> = paths(&found).into_iter().filter(|path| !is_link(path)).collect();
    assert_eq!(found, lines);
    found
}

#[test]
fn gitignore_is_honoured() {
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a [&'a str]);
    let cases: &[Case] = &[
        (
            "by name at any depth, by path from its folder",
            &[
                (".gitignore", "*.log\n/top\nsub/only\n"),
                ("a.log", "x"),
                ("d/b.log", "x"),
                ("d/top", "x"),
                ("top", "x"),
                ("sub/only", "x"),
                ("d/sub/only", "x"),
            ],
            ".",
            &[".gitignore", "d/sub/only", "d/top"],
        ),
        (
            "folders only",
            &[(".gitignore", "build/\n"), ("build/x", "x"), ("d/build", "x")],
            ".",
            &[".gitignore", "d/build"],
        ),
        (
            "negation",
            &[(".gitignore", "*.log\n!keep.log\n"), ("a.log", "x"), ("keep.log", "x")],
            ".",
            &[".gitignore", "keep.log"],
        ),
        (
            "nothing comes back from an ignored folder",
            &[(".gitignore", "out/\n!out/keep\n"), ("out/keep", "x"), ("b", "x")],
            ".",
            &[".gitignore", "b"],
        ),
        (
            "the nearest file decides",
            &[
                (".gitignore", "*.gen\n*.tmp\n"),
                ("d/.gitignore", "!*.gen\n/local\n"),
                ("d/e/.gitignore", "nothing\n"),
                ("a.gen", "x"),
                ("d/e/b.tmp", "x"),
                ("d/e/c.gen", "x"),
                ("d/a.gen", "x"),
                ("d/local", "x"),
                ("d/e/local", "x"),
            ],
            ".",
            &[".gitignore", "d/.gitignore", "d/a.gen", "d/e/.gitignore", "d/e/c.gen", "d/e/local"],
        ),
        (
            "comments, escapes, double stars, CRLF and a byte order mark",
            &[
                (".gitignore", "\u{feff}# no\r\n\\#yes\r\nlogs/**/x\r\n\r\n"),
                ("#yes", "x"),
                ("# no", "x"),
                ("logs/a/b/x", "x"),
                ("logs/y", "x"),
            ],
            ".",
            &["# no", ".gitignore", "logs/y"],
        ),
        (
            "rules above the start count",
            &[(".gitignore", "*.log\n"), ("d/a.log", "x"), ("d/b", "x")],
            "d",
            &["d/b"],
        ),
        (
            "an ignored start was named on purpose",
            &[(".gitignore", "target\n"), ("target/.gitignore", "b\n"), ("target/a", "x"), ("target/b", "x")],
            "target",
            &["target/.gitignore", "target/a"],
        ),
        (
            "below an ignored folder, too",
            &[(".gitignore", "target\n*.o\n"), ("target/debug/a.o", "x")],
            "target/debug",
            &["target/debug/a.o"],
        ),
        (
            "a link is no ignore file",
            &[("rules", "a\n"), (".gitignore -> rules", ""), ("a", "x")],
            ".",
            &["a", "rules"],
        ),
        (
            ".git is never searched",
            &[(".git/config", "x"), ("sub/.git", "gitdir: x\n"), (".gitattributes", "x")],
            ".",
            &[".gitattributes"],
        ),
    ];
    for (name, files, start, expected) in cases {
        assert_eq!(found_files(files, start), *expected, "{name}");
    }
}

#[test]
fn an_ignored_file_that_is_named_is_read_and_searched() {
    let mut session = Session::new(&[(".gitignore", "*.log\n"), ("a.log", "needle\n")]);
    assert_eq!(session.ok("grep", json!({"pattern": "needle", "path": "a.log"})), "a.log:1:needle");
    assert_eq!(session.ok("read_file", json!({"file_path": "a.log"})), "needle\n");
}

#[test]
fn a_staged_change_of_gitignore_counts_at_once() {
    let mut session = Session::new(&[("a.log", "x\n"), ("b.txt", "x\n")]);
    assert_eq!(session.ok("glob", json!({"pattern": "*"})), "a.log\nb.txt");
    session.ok("write_file", json!({"file_path": ".gitignore", "content": "*.log\n.gitignore\n"}));
    assert_eq!(session.ok("glob", json!({"pattern": "*"})), "b.txt");
    assert_eq!(session.ok("grep", json!({"pattern": "x"})), "b.txt:1:x");
    session
        .ok("edit", json!({"file_path": ".gitignore", "old_string": "*.log", "new_string": "*.log\n!a.log"}));
    assert_eq!(
        session.ok("ls", json!({})),
        "a.log\nb.txt\n[1 more ignored by .gitignore; name one as path to look into it]"
    );
    block_on(session.overlay.remove(&path(".gitignore"))).unwrap();
    assert_eq!(session.ok("glob", json!({"pattern": "*"})), "a.log\nb.txt");
}

#[test]
fn what_is_staged_is_seen_by_every_tool() {
    let base = Arc::new(tree(&[("src/old.rs", "needle old\n"), ("src/gone.rs", "needle gone\n")]));
    let before = base.snapshot();
    let mut session = Session::over(base.clone());
    session.ok("write_file", json!({"file_path": "src/deep/new.rs", "content": "needle new\n"}));
    session.ok(
        "edit",
        json!({"file_path": "src/old.rs", "old_string": "needle old", "new_string": "needle changed"}),
    );
    block_on(session.overlay.remove(&path("src/gone.rs"))).unwrap();

    let found = session.ok("grep", json!({"pattern": "needle"}));
    assert_eq!(found, "src/deep/new.rs:1:needle new\nsrc/old.rs:1:needle changed");
    assert_eq!(session.ok("glob", json!({"pattern": "**/*.rs"})), "src/deep/new.rs\nsrc/old.rs");
    assert_eq!(session.ok("ls", json!({"path": "src"})), "deep/\nold.rs");
    assert_eq!(session.ok("read_file", json!({"file_path": "src/deep/new.rs"})), "needle new\n");
    assert_eq!(
        session.refused("read_file", json!({"file_path": "src/gone.rs"})),
        "src/gone.rs does not exist"
    );
    assert_eq!(base.snapshot(), before, "nothing real changes");
}

#[test]
fn a_search_says_where_it_stopped() {
    let text = lines(1..=9, |number| format!("needle {number}"));
    let files = [("a/one", text.as_str()), ("b/two", "needle\n"), ("c/three", "needle\n"), ("d", "hay\n")];
    let mut session = Session::new(&files);
    session.limits.matches = 3;
    session.ok("grep", json!({"pattern": "needle"}));
    session.ok("glob", json!({"pattern": "**"}));
    session.limits.matches = 2;
    session.ok("glob", json!({"pattern": "**"}));
    session.limits = headstart_toolbox::ToolLimits { output_bytes: 40, ..Default::default() };
    session.ok("grep", json!({"pattern": "needle"}));
    session.limits = headstart_toolbox::ToolLimits { files: 4, ..Default::default() };
    session.ok("grep", json!({"pattern": "needle$"}));
    session.ok("glob", json!({"pattern": "**/t*"}));
    session.limits = headstart_toolbox::ToolLimits { files: 7, ..Default::default() };
    session.ok("glob", json!({"pattern": "**/t*"}));
    session.limits = headstart_toolbox::ToolLimits { file_bytes: 20, ..Default::default() };
    session.ok("grep", json!({"pattern": "needle"}));
    session.limits = headstart_toolbox::ToolLimits { search_bytes: 85, ..Default::default() };
    session.ok("grep", json!({"pattern": "needle$"}));
    insta::assert_snapshot!(session.transcript());
}

#[test]
fn a_long_line_is_cut_between_characters() {
    let mut session = Session::new(&[("min.js", &format!("needle{}", "é".repeat(400)))]);
    let found = session.ok("grep", json!({"pattern": "needle"}));
    assert_eq!(found, format!("min.js:1:needle{} […line cut]", "é".repeat(247)));
}

#[test]
fn denied_paths_do_not_exist_for_a_search() {
    let mut session = Session::new(&[
        (".env", "needle\n"),
        ("secrets/key", "needle\n"),
        ("src/.env", "needle\n"),
        ("src/a", "needle\n"),
        ("alias -> secrets", ""),
        ("shortcut -> .env", ""),
    ])
    .deny(&[".env", "/secrets"]);
    assert_eq!(session.ok("grep", json!({"pattern": "needle"})), "src/a:1:needle");
    assert_eq!(session.ok("glob", json!({"pattern": "**"})), "alias\nshortcut\nsrc/a");
    assert_eq!(session.ok("ls", json!({})), "alias@\nshortcut@\nsrc/");
    let calls = [
        ("read_file", json!({"file_path": ".env"})),
        ("read_file", json!({"file_path": "shortcut"})),
        ("read_file", json!({"file_path": "alias/key"})),
        ("read_file", json!({"file_path": "src/../secrets/./key"})),
        ("grep", json!({"pattern": "needle", "path": "secrets"})),
        ("grep", json!({"pattern": "needle", "path": "alias"})),
        ("glob", json!({"pattern": "*", "path": "alias"})),
        ("ls", json!({"path": "alias"})),
        ("write_file", json!({"file_path": "secrets/new", "content": ""})),
        ("write_file", json!({"file_path": "alias/new", "content": ""})),
        ("edit", json!({"file_path": "shortcut", "old_string": "n", "new_string": "m"})),
    ];
    for (tool, args) in calls {
        let told = session.refused(tool, args.clone());
        assert!(told.contains("deny rule"), "{tool} {args}: {told}");
    }
    assert!(session.overlay.change_set().is_empty());
}

#[test]
fn what_is_found_has_its_place() {
    let mut session = Session::new(&[("a.rs", "one\ntwo\none\n"), ("b/c.rs", "one")]);
    session.ok("grep", json!({"pattern": "one"}));
    assert_eq!(
        session.items(),
        [
            r#"a.rs (1-3) at a.rs Some((1, 3)): "a.rs:1:one\na.rs:3:one\n""#,
            r#"c.rs (1) at b/c.rs Some((1, 1)): "b/c.rs:1:one""#,
        ]
    );
    session.limits.matches = 1;
    session.ok("glob", json!({"pattern": "**/*.rs"}));
    assert_eq!(
        session.items(),
        [
            r#"a.rs at a.rs None: "a.rs\n""#,
            r#"notes, hidden: "[stopped after 1 paths; a narrower pattern or path shows the rest]""#,
        ]
    );
    session.ok("grep", json!({"pattern": "nothing"}));
    assert!(session.items().is_empty());
}
