//! The tools `multi_edit` and `create_file`, and what a full toolbox adds to the arguments of the others.

use headstart_overlay_fs::Tree;
use headstart_tool_gate::{ApprovalMode, CallRef, Decision, Gate, GateContext, Reason};
use headstart_toolbox::{more_declarations, more_tools};
use serde_json::{Value, json};

use crate::session::Session;

fn session(files: &[(&str, &str)]) -> Session {
    let mut session = Session::new(files);
    session.gate.tools = more_declarations();
    session.toolbox = more_tools().into_iter().fold(session.toolbox, headstart_toolbox::Toolbox::with);
    session
}

fn edits(edits: &[(&str, &str)]) -> Value {
    edits.iter().map(|(old, new)| json!({"old_string": old, "new_string": new})).collect()
}

#[test]
fn several_edits_are_made_in_order() {
    let mut session = session(&[("a.rs", "one\r\ntwo\r\nthree\r\n"), ("run.sh*", "echo a\n")]);
    let said = session
        .ok("multi_edit", json!({"file_path": "a.rs", "edits": edits(&[("one", "1"), ("1\ntwo", "12")])}));
    insta::assert_snapshot!(said.replace('\r', "␍"));
    assert_eq!(session.content("a.rs"), b"12\r\nthree\r\n", "line ends stay, and the second sees the first");
    let all = json!([{"old_string": "a", "new_string": "b", "replace_all": true}]);
    session.ok("multi_edit", json!({"file_path": "/home/ada/project/run.sh", "edits": all}));
    assert!(session.is_executable("run.sh"));
}

#[test]
fn one_that_does_not_apply_leaves_all_as_it_was() {
    let mut session = session(&[("a.rs", "one\ntwo\ntwo\n"), ("empty", ""), ("out -> /etc/passwd", "")]);
    for (args, words) in [
        (
            json!({"file_path": "a.rs", "edits": edits(&[("one", "1"), ("nine", "9")])}),
            "edit 2 of 2, nothing is changed: old_string is not in a.rs",
        ),
        (
            json!({"file_path": "a.rs", "edits": edits(&[("one", "1"), ("one", "9")])}),
            "as the edits before leave it",
        ),
        (
            json!({"file_path": "a.rs", "edits": edits(&[("two", "2")])}),
            "edit 1 of 1, nothing is changed: old_string is 2 times in a.rs",
        ),
        (
            json!({"file_path": "a.rs", "edits": edits(&[("one", "x"), ("x", "one")])}),
            "leave the file as it is",
        ),
        (json!({"file_path": "a.rs", "edits": edits(&[("", "x")])}), "edit 1: old_string is empty"),
        (
            json!({"file_path": "a.rs", "edits": edits(&[("a", "a")])}),
            "edit 1: old_string and new_string are the same",
        ),
        (json!({"file_path": "a.rs", "edits": []}), "must hold 1 to 200 edits"),
        (json!({"file_path": "a.rs", "edits": "x"}), "the argument edits must be a list"),
        (json!({"file_path": "a.rs", "edits": [1]}), "edit 1: it is an object"),
        (
            json!({"file_path": "a.rs", "edits": [{"old_string": "a", "new": "b"}]}),
            "edit 1: there is no field \"new\"",
        ),
        (json!({"file_path": "a.rs", "edits": [{"old_string": "a"}]}), "edit 1: new_string must be a string"),
        (json!({"file_path": "nine", "edits": edits(&[("a", "b")])}), "nine does not exist"),
        (json!({"file_path": "../a", "edits": edits(&[("a", "b")])}), "outside the workspace"),
        (json!({"file_path": "out", "edits": edits(&[("a", "b")])}), "out of the workspace"),
        (json!({"edits": edits(&[("a", "b")])}), "the argument file_path is missing"),
    ] {
        let said = session.refused("multi_edit", args.clone());
        assert!(said.contains(words), "{args}: {said}");
    }
    assert_eq!(session.content("a.rs"), b"one\ntwo\ntwo\n");
    assert!(session.overlay.change_set().changes.is_empty());
}

#[test]
fn a_new_file_takes_no_others_place() {
    let mut session = session(&[("a.rs", "one\n"), ("link -> a.rs", ""), ("folder/x", "")]);
    assert_eq!(
        session.ok("create_file", json!({"file_path": "b/c.rs", "content": "x\ny\n"})),
        "created b/c.rs (2 lines)"
    );
    for path in ["a.rs", "link", "folder", "b/c.rs", "."] {
        session.refused("create_file", json!({"file_path": path, "content": "x"}));
    }
    assert_eq!(session.content("a.rs"), b"one\n");
    assert!(!session.overlay.is_staged(&crate::session::path("a.rs")));
}

#[test]
fn the_gate_judges_them_as_edits() {
    for (mode, decision, reason) in [
        (ApprovalMode::Plan, Decision::Boundary, Reason::WriteToolNoAuto),
        (ApprovalMode::Default, Decision::Boundary, Reason::WriteToolNoAuto),
        (ApprovalMode::AutoEdit, Decision::Redirect, Reason::StagedWrite),
    ] {
        let context = GateContext {
            mode,
            workspace: "/w".into(),
            tools: more_declarations(),
            ..GateContext::default()
        };
        for name in ["multi_edit", "create_file"] {
            let judge = |path: &str| {
                let args = json!({"file_path": path, "content": "", "edits": []});
                Gate::new().judge(CallRef { name, args: args.as_object().unwrap() }, &context)
            };
            let verdict = judge("src/a.rs");
            assert_eq!((verdict.decision, verdict.reason), (decision, reason), "{name}");
            assert_eq!(judge(".git/config").decision, Decision::Boundary, "{name}");
            assert_eq!(judge("../a").decision, Decision::Boundary, "{name}");
        }
    }
}

#[test]
fn a_listing_goes_down_on_request() {
    let mut session = session(&[
        (".gitignore", "target\n"),
        ("a/b/c.rs", ""),
        ("a/d.rs", ""),
        ("target/x", ""),
        (".env", ""),
        ("l -> a", ""),
    ]);
    assert_eq!(session.ok("ls", json!({"recursive": true})), ".gitignore\na/\na/b/\na/b/c.rs\na/d.rs\nl@");
    assert_eq!(session.ok("ls", json!({"path": "a", "recursive": true})), "a/b/\na/b/c.rs\na/d.rs");
    let many: Vec<_> = (0..300).map(|number| (format!("f{number:03}"), "")).collect();
    let many: Vec<_> = many.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let mut session = self::session(&many);
    let said = session.ok("ls", json!({"recursive": true}));
    assert!(said.ends_with("f199\n[100 more entries; name a folder below, or glob]"), "{said}");
}

#[test]
fn matches_come_with_their_surroundings_on_request() {
    let mut session =
        session(&[("a.rs", "1\n2\nhit\n4\n5\n6\n7\nhit\nhit\n10\n"), ("b.rs", "hit"), ("c.rs", "none\n")]);
    insta::assert_snapshot!(session.ok("grep", json!({"pattern": "hit", "context": 1})));
    assert_eq!(session.ok("grep", json!({"pattern": "hit", "context": 0, "path": "b.rs"})), "b.rs:1:hit");
    let said = session.refused("grep", json!({"pattern": "hit", "context": 6}));
    assert!(said.contains("context must be at most 5"), "{said}");
}

#[test]
fn lines_are_read_by_their_numbers() {
    let mut session = session(&[("a.rs", "1\n2\n3\n4\n5\n")]);
    assert_eq!(
        session.ok("read_file", json!({"file_path": "a.rs", "start_line": 2, "end_line": 3})),
        "2\n3\n[lines 2 to 3 of 5; to read on, use offset 4]"
    );
    assert_eq!(
        session.ok("read_file_range", json!({"file_path": "a.rs", "start_line": 4, "end_line": 9})),
        "4\n5\n[lines 4 to 5 of 5, the end]"
    );
    for (args, words) in [
        (
            json!({"file_path": "a.rs", "start_line": 3, "end_line": 2}),
            "end_line 2 is before start_line 3; a.rs has 5 lines",
        ),
        (json!({"file_path": "a.rs", "start_line": 6}), "a.rs has 5 lines"),
        (json!({"file_path": "a.rs", "start_line": 0}), "start_line must be at least 1"),
        (json!({"file_path": "a.rs", "start_line": 1, "offset": 2}), "start_line and offset"),
    ] {
        let said = session.refused("read_file", args.clone());
        assert!(said.contains(words), "{args}: {said}");
    }
}
