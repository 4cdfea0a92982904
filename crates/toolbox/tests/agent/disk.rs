//! The same tools, over files on disk.

#![expect(clippy::disallowed_methods, reason = "the workspace of these tests is a real folder")]

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use futures::executor::block_on;
use headstart_overlay_fs::{CommitOptions, CommitOutcome, Committed, OsTree, Workspace};
use serde_json::json;

use crate::session::Session;

fn write(root: &Path, name: &str, content: impl AsRef<[u8]>) {
    let file = root.join(name);
    let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(&file, content)).expect(name);
}

/// Lists every file and link below the root with its content or target, so that two states can be compared.
fn snapshot(root: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut rows = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let kind = fs::symlink_metadata(&path)?.file_type();
            let content = if kind.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else if kind.is_symlink() {
                fs::read_link(&path)?.into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path)?
            };
            rows.push((path.display().to_string(), content));
        }
    }
    rows.sort();
    Ok(rows)
}

#[test]
fn an_agent_works_on_a_folder_without_touching_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret", "needle outside\n");
    write(&root, "src/main.rs", "fn main() {\r\n    needle();\r\n}\r\n");
    write(&root, "run.sh", "#!/bin/sh\nneedle\n");
    fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    write(&root, ".gitignore", "target/\n");
    write(&root, "target/out.txt", "needle\n");
    write(&root, ".git/HEAD", "needle\n");
    write(&root, "picture", b"needle\0");
    symlink(outside.path(), root.join("escape")).unwrap();
    symlink("src", root.join("linked")).unwrap();
    symlink(root.join("src/main.rs"), root.join("absolute.rs")).unwrap();
    let before = snapshot(&root).unwrap();

    let tree = Arc::new(OsTree::open(&root).unwrap());
    let mut session = Session::over(tree.clone());
    session.gate.workspace = root.display().to_string();
    let workspace = session.gate.workspace.clone();
    let main = json!({"file_path": "linked/main.rs", "old_string": "needle();\n", "new_string": "found();\nagain();\n"});
    session.ok("ls", json!({}));
    session.ok("glob", json!({"pattern": "**"}));
    session.ok("grep", json!({"pattern": "needle"}));
    session.ok("grep", json!({"pattern": "needle", "path": "target"}));
    session.refused("read_file", json!({"file_path": "escape/secret"}));
    session.refused("grep", json!({"pattern": "needle", "path": "escape"}));
    session.refused("write_file", json!({"file_path": "escape/new", "content": "x"}));
    session.refused("read_file", json!({"file_path": outside.path().join("secret")}));
    session.ok("read_file", json!({"file_path": "absolute.rs"}));
    session.ok("read_file", json!({"file_path": root.join("run.sh")}));
    session.ok("edit", main);
    session.ok("write_file", json!({"file_path": "run.sh", "content": "#!/bin/sh\nfound\n"}));
    session.ok("write_file", json!({"file_path": "new/file.txt", "content": "found\n"}));
    session.ok("grep", json!({"pattern": "needle|found"}));
    assert_eq!(snapshot(&root).unwrap(), before, "nothing real changes before an accept");
    let transcript = session.transcript();
    let answers = transcript.lines().filter(|line| !line.starts_with('>'));
    let elsewhere = outside.path().display().to_string();
    for answer in answers.filter(|answer| !answer.contains("is outside the workspace")) {
        assert!(!answer.contains(&workspace) && !answer.contains(&elsewhere), "{answer}");
    }
    insta::assert_snapshot!(transcript.replace(&elsewhere, "/elsewhere").replace(&workspace, "/project"));

    let outcome = block_on(tree.commit(&session.overlay.change_set(), CommitOptions::default())).unwrap();
    assert_eq!(outcome, CommitOutcome::Committed(Committed::default()));
    assert_eq!(
        fs::read(root.join("src/main.rs")).unwrap(),
        b"fn main() {\r\n    found();\r\nagain();\r\n}\r\n"
    );
    assert_eq!(fs::read(root.join("new/file.txt")).unwrap(), b"found\n");
    assert_eq!(fs::metadata(root.join("run.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(!outside.path().join("new").exists());
}

#[test]
fn what_cannot_be_read_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "closed/file", "needle\n");
    write(folder.path(), "closed-file", "needle\n");
    write(folder.path(), "open", "needle\n");
    let shut = |name: &str, mode| {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    shut("closed", 0o000);
    shut("closed-file", 0o000);
    // A user who may do anything, such as root in a container, can still read these files.
    let is_shut_out = fs::read(folder.path().join("closed-file")).is_err();
    let mut session = Session::over(Arc::new(OsTree::open(folder.path()).unwrap()));
    let found = session.ok("grep", json!({"pattern": "needle"}));
    if is_shut_out {
        let expected =
            "open:1:needle\n[folders that could not be read: 1]\n[files that could not be read: 1]";
        assert_eq!(found, expected);
    } else {
        assert_eq!(found, "closed-file:1:needle\nclosed/file:1:needle\nopen:1:needle");
    }
    shut("closed", 0o700);
}
