//! The tools `edit` and `write_file`.

use std::sync::Arc;

use crate::session::{Session, path, tree};
use headstart_overlay_fs::{Overlay, Quota};
use headstart_toolbox::ToolError;
use serde_json::json;

#[test]
fn an_edit_says_what_it_did_or_what_to_do() {
    let base = tree(&[
        ("src/lib.rs", "fn one() {}\nfn two() {\n    one();\n    one();\n}\n"),
        ("empty", ""),
        ("folder/x", ""),
        ("hooks -> .git/hooks", ""),
        ("rules -> .headstart", ""),
        ("alias -> src/lib.rs", ""),
        ("dangling -> src/made.rs", ""),
    ]);
    base.write(&path("binary"), b"a\0b".as_slice());
    let mut session = Session::over(Arc::new(base));
    for (file, old, new) in [
        ("src/lib.rs", "fn two()", "fn second()"),
        ("src/lib.rs", "one();", "two();"),
        ("src/lib.rs", "nothing like it", "x"),
        ("src/lib.rs", "  fn one()  {}\n", "x"),
        ("src/lib.rs", "\tone();\n\n", "x"),
        ("src/lib.rs", "same", "same"),
        ("src/lib.rs", "", "x"),
        ("empty", "", "now filled\n"),
        ("new/file.txt", "", "made\n"),
        ("missing", "a", "b"),
        ("folder", "a", "b"),
        ("binary", "a", "b"),
        ("alias", "fn one() {}", "fn first() {}"),
        ("dangling", "", "made\n"),
        ("hooks/pre-commit", "", "#!/bin/sh\n"),
        ("rules/config.toml", "", "mode = \"yolo\"\n"),
        (".", "a", "b"),
        ("src/lib.rs/x", "", "b"),
        ("../x", "a", "b"),
    ] {
        let _ = session.call("edit", json!({"file_path": file, "old_string": old, "new_string": new}));
    }
    session.ok(
        "edit",
        json!({"file_path": "src/lib.rs", "old_string": "one();", "new_string": "first();", "replace_all": true}),
    );
    session.ok("read_file", json!({"file_path": "src/lib.rs"}));
    insta::assert_snapshot!(session.transcript());
    assert_eq!(session.content("src/made.rs"), b"made\n");
}

#[test]
fn an_edit_keeps_what_it_does_not_mean() {
    let base = tree(&[("run.sh*", "#!/bin/sh\necho one\n")]);
    base.write(&path("latin1"), b"caf\xe9\none\n".as_slice());
    base.write(&path("windows"), "\u{feff}one\r\ntwo\r\n");
    let mut session = Session::over(Arc::new(base));
    for file in ["run.sh", "latin1", "windows"] {
        session.ok("edit", json!({"file_path": file, "old_string": "one\n", "new_string": "1\n2\n"}));
    }
    assert!(session.is_executable("run.sh"));
    assert_eq!(session.content("latin1"), b"caf\xe9\n1\n2\n");
    assert_eq!(session.content("windows"), "\u{feff}1\r\n2\r\ntwo\r\n".as_bytes());
}

#[test]
fn a_file_is_written_whole() {
    let base = Arc::new(tree(&[
        ("old.txt", "one\ntwo\n"),
        ("run.sh*", "#!/bin/sh\n"),
        ("windows.txt", "\u{feff}one\r\ntwo\r\n"),
        ("folder/x", ""),
        ("link.txt -> old.txt", ""),
    ]));
    let mut session = Session::over(base);
    for (file, content) in [
        ("a/b/new.txt", "hello\n"),
        ("old.txt", "one\ntwo\n"),
        ("link.txt", "three\n"),
        ("run.sh", "#!/bin/bash\n"),
        ("windows.txt", "three\nfour\n"),
        ("folder", "x"),
        ("folder/x/below", "x"),
        (".", "x"),
        ("../outside", "x"),
    ] {
        let _ = session.call("write_file", json!({"file_path": file, "content": content}));
    }
    insta::assert_snapshot!(session.transcript());
    assert_eq!(session.content("old.txt"), b"three\n");
    assert!(session.is_executable("run.sh"));
    assert_eq!(session.content("windows.txt"), "\u{feff}three\r\nfour\r\n".as_bytes());
}

#[test]
fn a_full_overlay_is_told_apart() {
    let mut session = Session::new(&[("a", "a")]);
    let quota = Quota { files: 1, bytes: 10, ..Quota::default() };
    session.overlay = Arc::new(Overlay::new(Arc::new(tree(&[("a", "a")])), quota));
    let long = "x".repeat(11);
    for (tool, args) in [
        ("write_file", json!({"file_path": "b", "content": long})),
        ("edit", json!({"file_path": "a", "old_string": "a", "new_string": long})),
    ] {
        let error = session.call(tool, args).unwrap_err();
        assert!(matches!(error, ToolError::Quota { .. }), "{error:?}");
    }
    session.ok("write_file", json!({"file_path": "b", "content": "x"}));
    let error = session.call("write_file", json!({"file_path": "c", "content": "x"})).unwrap_err();
    assert!(matches!(error, ToolError::Quota { .. }), "{error:?}");
}

/// The bytes of a text in UTF-16 with its byte order mark.
fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
    let units = format!("\u{feff}{text}");
    let units = units.encode_utf16();
    units.flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

#[test]
fn utf_16_is_read_edited_searched_and_written_as_it_is_stored() {
    for big_endian in [false, true] {
        let base = tree(&[]);
        base.write(&path("strings.txt"), utf16("name = \"Größe\"\r\nmore\r\n", big_endian));
        let mut session = Session::over(Arc::new(base));
        let read = session.ok("read_file", json!({"file_path": "strings.txt"}));
        assert_eq!(read, "name = \"Größe\"\r\nmore\r\n");
        let found = session.ok("grep", json!({"pattern": "Gr.ße"}));
        assert_eq!(found.trim_end(), "strings.txt:1:name = \"Größe\"");
        let edit = json!({"file_path": "strings.txt", "old_string": "\"Größe\"\nmore", "new_string": "\"寸法\"\nless"});
        session.ok("edit", edit);
        assert_eq!(session.content("strings.txt"), utf16("name = \"寸法\"\r\nless\r\n", big_endian));
        let said = session.ok("write_file", json!({"file_path": "strings.txt", "content": "all new\n😀\n"}));
        assert_eq!(session.content("strings.txt"), utf16("all new\r\n😀\r\n", big_endian), "{said}");
        assert!(said.contains("UTF-16 kept"), "{said}");
        assert!(session.overlay.change_set().diff().contains("+all new"), "a person reads the diff as text");
        assert!(!session.overlay.change_set().summary()[0].binary);
    }
}

#[test]
fn no_file_gets_two_encodings() {
    let base = tree(&[]);
    let latin1 = b"// \xfcber\nlet a = 1;\n";
    base.write(&path("latin1"), latin1.as_slice());
    base.write(&path("image"), b"\x89PNG\0\0".as_slice());
    let mut session = Session::over(Arc::new(base));
    for (tool, args) in [
        ("edit", json!({"file_path": "latin1", "old_string": "a = 1", "new_string": "ä = 1"})),
        ("edit", json!({"file_path": "latin1", "old_string": "über", "new_string": "about"})),
        ("write_file", json!({"file_path": "latin1", "content": "// über\n"})),
        ("write_file", json!({"file_path": "image", "content": "text\n"})),
    ] {
        let error = session.call(tool, args).unwrap_err().to_string();
        assert!(error.contains("not UTF-8") || error.contains("binary"), "{error}");
    }
    assert_eq!(session.content("latin1"), latin1);
    session.ok("edit", json!({"file_path": "latin1", "old_string": "a = 1", "new_string": "b = 2"}));
    assert_eq!(session.content("latin1"), b"// \xfcber\nlet b = 2;\n");
    // Whatever is ASCII is in its encoding, too.
    session.ok("write_file", json!({"file_path": "latin1", "content": "// about\n"}));
    assert_eq!(session.content("latin1"), b"// about\n");
}

#[test]
fn mixed_line_ends_stay_where_lines_stay() {
    let base = tree(&[]);
    base.write(&path("mixed"), "one\r\ntwo\nthree\r\n\r\nfour\n");
    let mut session = Session::over(Arc::new(base));
    let said =
        session.ok("write_file", json!({"file_path": "mixed", "content": "zero\none\ntwo\n\nfour\nfive\n"}));
    assert_eq!(session.content("mixed"), b"zero\r\none\r\ntwo\n\r\nfour\nfive\r\n", "{said}");
    assert!(said.contains("mixed line ends kept"), "{said}");
}

/// What is said of the line ends is true of the result, and not of the file before.
#[test]
fn line_ends_are_said_to_be_mixed_only_where_the_result_has_both_kinds() {
    for (before, content, after, said_of_it) in [
        ("one\r\ntwo\nthree\n", "two\nthree\n", "two\nthree\n", None),
        ("one\r\ntwo\r\nthree\n", "one\ntwo\n", "one\r\ntwo\r\n", Some("; CRLF line ends kept")),
    ] {
        let base = tree(&[]);
        base.write(&path("file"), before);
        let mut session = Session::over(Arc::new(base));
        let said = session.ok("write_file", json!({"file_path": "file", "content": content}));
        assert_eq!(session.content("file"), after.as_bytes(), "{said}");
        match said_of_it {
            Some(words) => assert!(said.contains(words) && !said.contains("mixed"), "{said}"),
            None => assert!(!said.contains("line ends"), "{said}"),
        }
    }
}
