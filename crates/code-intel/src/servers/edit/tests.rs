use std::sync::Arc;

use headstart_overlay_fs::{ChangeSet, MemoryTree, Overlay, Quota, Tree};
use serde_json::{Value, json};

use super::*;
use crate::IntelError;

const FILES: [(&str, &str); 3] =
    [("src/a.ts", "let ü = \"👩‍💻\"; x(x);\r\nlet y;\r\n"), ("src/b.ts", "one\ntwo\n"), ("keys/id", "k")];

fn path(path: &str) -> WorkspacePath {
    WorkspacePath::parse(path).unwrap()
}

/// Reads, plans and stages an edit of the files. Returns what is staged, or the error if the edit is refused.
fn stage(edit: Value) -> Result<ChangeSet, IntelError> {
    let overlay = Overlay::new(Arc::new(MemoryTree::from_files(FILES).unwrap()), Quota::default());
    let asked = EditContext {
        root: "/w",
        encoding: PositionEncoding::Utf16,
        versions: [(path("src/a.ts"), 4)].into(),
        closed: &|path| path.as_bytes().starts_with(b"keys"),
    };
    futures::executor::block_on(async {
        let proposal = ProposedEdit::read(serde_json::from_value(edit).unwrap(), &asked)?;
        let mut texts = BTreeMap::new();
        for path in proposal.texts_needed() {
            if let Ok(bytes) = overlay.read(&path).await {
                texts.insert(path, String::from_utf8(bytes).unwrap());
            }
        }
        let outcome = proposal.plan(&texts, &asked)?.apply(&overlay).await;
        assert!(outcome.is_ok() || overlay.change_set().is_empty(), "a refused edit leaves something staged");
        outcome.map(|()| overlay.change_set())
    })
}

fn edit(line: u32, start: u32, end: u32, text: &str) -> Value {
    json!({"range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}, "newText": text})
}

fn text_edit(path: &str, version: &Value, edits: &[Value]) -> Value {
    json!({"textDocument": {"uri": format!("file:///w/{path}"), "version": version}, "edits": edits})
}

/// All steps of an edit are staged together, and later steps see the names that earlier ones have given.
#[test]
fn an_edit_is_staged_in_one_step() {
    let changes = stage(json!({"documentChanges": [
        text_edit("src/a.ts", &json!(4), &[edit(0, 19, 20, "zz"), edit(0, 17, 18, "zz"), edit(1, 0, 0, "// "), edit(1, 0, 0, "! ")]),
        {"kind": "rename", "oldUri": "file:///w/src", "newUri": "file:///w/lib"},
        text_edit("lib/b.ts", &json!(null), &[edit(0, 0, 3, "1")]),
        {"kind": "create", "uri": "file:///w/lib/c.ts"},
        text_edit("lib/c.ts", &json!(null), &[edit(0, 0, 0, "new\n")]),
        {"kind": "delete", "uri": "file:///w/nowhere", "options": {"ignoreIfNotExists": true}},
    ]}));
    insta::assert_snapshot!(changes.unwrap().diff());
    let changes = stage(json!({"changes": {"file:///w/src/b.ts": [edit(1, 0, 900, "2")]}})).unwrap();
    assert_eq!(changes.changes.len(), 1);
}

/// If one step of an edit is refused, no step of it is staged.
#[test]
fn what_is_refused_leaves_nothing() {
    let good = text_edit("src/b.ts", &json!(null), &[edit(0, 0, 3, "1")]);
    let cases = [
        (
            text_edit("../etc/passwd", &json!(null), &[]),
            "nothing was changed: the edit reaches passwd, which is outside the workspace",
        ),
        (
            text_edit(".git/hooks/pre-commit", &json!(null), &[]),
            "nothing was changed: the edit reaches .git/hooks/pre-commit, which is protected",
        ),
        (
            json!({"kind": "create", "uri": "file:///w/a/.GIT/config"}),
            "nothing was changed: the edit reaches a/.GIT/config, which is protected",
        ),
        (
            json!({"kind": "delete", "uri": "file:///w"}),
            "nothing was changed: the edit reaches ., which is protected",
        ),
        (
            json!({"kind": "rename", "oldUri": "file:///w/src", "newUri": "file:///tmp/x"}),
            "nothing was changed: the edit reaches x, which is outside the workspace",
        ),
        (
            text_edit("keys/id", &json!(null), &[]),
            "nothing was changed: the edit reaches keys/id, which is protected",
        ),
        (
            text_edit("src/a.ts", &json!(3), &[]),
            "nothing was changed: the edit is for version 3 of src/a.ts, and this is version 4; ask again",
        ),
        (
            text_edit("src/a.ts", &json!(4), &[edit(0, 0, 3, ""), edit(0, 2, 4, "")]),
            "nothing was changed: edits of src/a.ts overlap",
        ),
        (
            text_edit("src/a.ts", &json!(4), &[edit(0, 10, 12, "")]),
            "nothing was changed: an edit of src/a.ts is at no place of its text",
        ),
        (
            text_edit("src/a.ts", &json!(4), &[edit(0, 3, 1, "")]),
            "nothing was changed: an edit of src/a.ts is at no place of its text",
        ),
        (
            text_edit("src/none.ts", &json!(null), &[]),
            "nothing was changed: src/none.ts is no text file that could be edited",
        ),
        (
            json!({"kind": "create", "uri": "file:///w/src/b.ts"}),
            "nothing was changed: src/b.ts exists already",
        ),
        (
            json!({"kind": "rename", "oldUri": "file:///w/src/a.ts", "newUri": "file:///w/src/b.ts"}),
            "nothing was changed: src/b.ts exists already",
        ),
        (
            json!({"kind": "rename", "oldUri": "file:///w/none", "newUri": "file:///w/x"}),
            "nothing was changed: none does not exist",
        ),
        (json!({"kind": "delete", "uri": "file:///w/none"}), "nothing was changed: none does not exist"),
        (
            json!({"kind": "delete", "uri": "file:///w/src"}),
            "nothing was changed: src is a folder that is not empty",
        ),
        (
            json!({"textDocument": {"uri": "file:///w/src/b.ts", "version": null}, "edits": [
            {"range": edit(0, 0, 0, "")["range"], "snippet": {"kind": "snippet", "value": "${1:x}"}}]}),
            "nothing was changed: the edit is not understood: it has blanks to fill in",
        ),
    ];
    for (step, expected) in cases {
        let refused = stage(json!({"documentChanges": [good, step]})).unwrap_err();
        assert_eq!(refused.to_string(), expected, "{step}");
    }
}

/// A file that has changed since the edit was planned is not overwritten.
#[test]
fn what_changed_meanwhile_is_not_overwritten() {
    let plan = EditPlan {
        steps: vec![EditStep::Text {
            path: path("src/b.ts"),
            before: "other".to_owned(),
            after: "x".to_owned(),
        }],
    };
    let overlay = Overlay::new(Arc::new(MemoryTree::from_files(FILES).unwrap()), Quota::default());
    let error = futures::executor::block_on(plan.apply(&overlay)).unwrap_err();
    assert_eq!(error, EditError::Changed { path: path("src/b.ts") }.into());
}
