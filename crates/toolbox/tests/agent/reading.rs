//! The tools `read_file` and `ls`.

use std::sync::Arc;

use crate::session::{Session, lines, path, tree};
use headstart_overlay_fs::MemoryTree;
use serde_json::json;

#[test]
fn a_file_is_read_as_it_is() {
    let mut session = Session::new(&[
        ("src/main.rs", "fn main() {\n    run();\n}\n"),
        ("no-end", "one\ntwo"),
        ("windows.txt", "\u{feff}one\r\ntwo\r\n"),
        ("empty", ""),
        ("link -> src/main.rs", ""),
    ]);
    assert_eq!(session.ok("read_file", json!({"file_path": "no-end"})), "one\ntwo");
    assert_eq!(session.ok("read_file", json!({"file_path": "windows.txt"})), "one\r\ntwo\r\n");
    for spelling in ["src/main.rs", "./src//main.rs", "/home/ada/project/src/main.rs", "link"] {
        let text = session.ok("read_file", json!({"file_path": spelling}));
        assert_eq!(text, "fn main() {\n    run();\n}\n", "{spelling}");
    }
    assert_eq!(session.ok("Read", json!({"path": "no-end", "limit": null})), "one\ntwo");
    assert_eq!(session.ok("read_file", json!({"file_path": "empty"})), "[empty is empty]");
}

#[test]
fn a_long_file_comes_in_parts() {
    let text = lines(1..=10, |number| format!("line {number}"));
    let mut session = Session::new(&[("ten", &text)]);
    session.limits.read_lines = 4;
    for args in [
        json!({"file_path": "ten"}),
        json!({"file_path": "ten", "offset": 5}),
        json!({"file_path": "ten", "offset": 9.0}),
        json!({"file_path": "ten", "offset": 0, "limit": 1}),
        json!({"file_path": "ten", "offset": 3, "limit": 400}),
        json!({"file_path": "ten", "offset": 11}),
        json!({"file_path": "ten", "offset": 18_446_744_073_709_551_615_u64}),
    ] {
        let _ = session.call("read_file", args);
    }
    insta::assert_snapshot!(session.transcript());
}

#[test]
fn the_notes_lead_through_the_whole_file() {
    let text = lines(1..=100, |number| "ä".repeat(number % 17));
    let mut session = Session::new(&[("file", &text)]);
    session.limits.output_bytes = 90;
    let (mut read, mut offset) = (String::new(), 1);
    loop {
        let part = session.ok("read_file", json!({"file_path": "file", "offset": offset}));
        let (lines, note) = part.rsplit_once('[').unwrap();
        read += lines;
        match note.strip_suffix(']').unwrap().rsplit_once("offset ") {
            Some((_, next)) => offset = next.parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(read, text);
}

#[test]
fn what_cannot_be_shown_is_said() {
    let base = tree(&[("long", &format!("{}\nshort\n", "é".repeat(40))), ("large", &"x".repeat(2_000))]);
    base.write(&path("latin1"), b"caf\xe9\n".as_slice());
    base.write(&path("picture.png"), b"\x89PNG\r\n\x1a\n\0\0".as_slice());
    base.write(&path("utf16"), b"\xff\xfea\0b\0".as_slice());
    base.make_dir(&path("folder"));
    base.special(&path("fifo"));
    base.link(&path("out"), "../elsewhere");
    base.link(&path("out-absolute"), "/etc/passwd");
    base.link(&path("circle"), "circle");
    let mut session = Session::over(Arc::new(base));
    session.limits.output_bytes = 21;
    session.limits.file_bytes = 1_000;
    let names = [
        "long",
        "large",
        "latin1",
        "picture.png",
        "utf16",
        "folder",
        "fifo",
        "out",
        "out-absolute",
        "circle",
        "missing",
        "folder/missing",
        "latin1/below",
        "../secret",
        "/etc/passwd",
        "",
        "nul\0",
    ];
    for name in names {
        let _ = session.call("read_file", json!({"file_path": name}));
    }
    insta::assert_snapshot!(session.transcript());
}

#[test]
fn a_folder_is_listed() {
    let mut session = Session::new(&[
        (".gitignore", "target\n*.log\n"),
        (".git/config", ""),
        ("README.md", ""),
        ("a.log", ""),
        ("bin/run*", ""),
        ("link -> README.md", ""),
        ("src/main.rs", ""),
        ("target/debug/app", ""),
        ("target/x.log", ""),
        (".env", ""),
        ("empty/", ""),
    ])
    .deny(&[".env"]);
    for args in [
        json!({}),
        json!({"path": "/home/ada/project/src"}),
        json!({"path": "target"}),
        json!({"path": "empty"}),
        json!({"path": "README.md"}),
        json!({"path": "nowhere"}),
    ] {
        let _ = session.call("ls", args);
    }
    session.limits.matches = 2;
    session.ok("list_directory", json!({"path": "."}));
    insta::assert_snapshot!(session.transcript());
}

#[test]
fn names_that_are_no_text_are_listed_and_found() {
    let base = MemoryTree::new();
    base.write(&headstart_overlay_fs::WorkspacePath::from_bytes(b"caf\xe9.txt").unwrap(), "needle\n");
    let mut session = Session::over(Arc::new(base));
    assert_eq!(session.ok("ls", json!({})), "caf\u{fffd}.txt");
    assert_eq!(session.ok("grep", json!({"pattern": "needle"})), "caf\u{fffd}.txt:1:needle");
    assert_eq!(session.ok("glob", json!({"pattern": "*.txt"})), "caf\u{fffd}.txt");
}

#[test]
fn what_is_read_has_its_place() {
    let mut session = Session::new(&[("src/a.rs", "one\ntwo\nthree\n")]);
    session.ok("read_file", json!({"file_path": "src/a.rs"}));
    assert_eq!(session.items(), [r#"a.rs at src/a.rs None: "one\ntwo\nthree\n""#]);
    session.ok("read_file", json!({"file_path": "/home/ada/project/src/a.rs", "offset": 2, "limit": 1}));
    let part = r#"a.rs (2) at src/a.rs Some((2, 2)): "two\n[lines 2 to 2 of 3; to read on, use offset 3]""#;
    assert_eq!(session.items(), [part]);
}
