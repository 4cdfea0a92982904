//! A path that a deny rule closes is not looked at, even if no call names it.

use crate::session::Session;
use headstart_overlay_fs::WorkspacePath;
use serde_json::json;

const FILES: [(&str, &str); 7] = [
    (".gitignore", "ignored\n"),
    ("ignored", "found"),
    ("src/a.rs", "found"),
    ("src/.gitignore", "b.rs\n"),
    ("secret/.gitignore", "k\n"),
    ("secret/k", "found"),
    ("link -> secret", ""),
];

/// Every path in the read set or the write set that a rule closes.
fn closed(session: &Session) -> Vec<WorkspacePath> {
    let changes = session.overlay.change_set();
    let written = changes.changes.into_iter().map(|change| change.path);
    let read = changes.reads.into_iter().map(|read| read.path);
    written.chain(read).filter(|path| session.gate.denies(path)).collect()
}

#[test]
fn nothing_closed_is_looked_at() {
    for rule in
        [".*", ".gitignore", "**/.git*", "secret", "secret/", "secret/*", "secret/**", "src/.gitignore"]
    {
        let mut session = Session::new(&FILES).deny(&[rule]);
        for (tool, args) in [
            ("ls", json!({})),
            ("ls", json!({"path": "src"})),
            ("ls", json!({"path": "link"})),
            ("grep", json!({"pattern": "found"})),
            ("grep", json!({"pattern": "found", "path": "src"})),
            ("glob", json!({"pattern": "**/*.rs"})),
            ("glob", json!({"pattern": "link/*"})),
            ("read_file", json!({"file_path": "link/k"})),
            ("read_file", json!({"file_path": "link/.gitignore"})),
            ("write_file", json!({"file_path": "link/.gitignore", "content": ""})),
            ("read_file", json!({"file_path": "src/a.rs"})),
        ] {
            let _ = session.call(tool, args.clone());
            assert_eq!(closed(&session), [], "{tool} {args} with {rule}");
        }
    }
}

#[test]
fn a_closed_list_of_what_is_ignored_leaves_nothing_out() {
    let mut session = Session::new(&FILES).deny(&["/.gitignore"]);
    assert_eq!(session.ok("glob", json!({"pattern": "*"})), "ignored\nlink");
    let mut session = Session::new(&FILES).deny(&["secret/**"]);
    assert_eq!(session.ok("glob", json!({"pattern": "*"})), ".gitignore\nlink");
}
