//! Shows the differences from the last commit, over a repository whose answers the test gives.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use headstart_overlay_fs::WorkspacePath;
use headstart_tool_gate::GateContext;
use headstart_toolbox::{CommittedFile, Repository, RepositoryStatus, ToolError, Toolbox, view_diff_tool};
use serde_json::json;

use crate::session::{Session, lines, path};

/// A repository whose working tree is the same as its last commit, except for one file with many lines.
struct FakeRepository(BTreeMap<&'static str, &'static str>);

const LONG: &str = "long.txt";

#[async_trait]
impl Repository for FakeRepository {
    async fn status(&self, _: &GateContext) -> Result<Option<RepositoryStatus>, ToolError> {
        let changed = if self.0.contains_key(LONG) { vec![path(LONG)] } else { Vec::new() };
        Ok(Some(RepositoryStatus { changed, ..RepositoryStatus::default() }))
    }

    async fn diff(&self, paths: &[WorkspacePath], _: bool, _: &GateContext) -> Result<String, ToolError> {
        assert_eq!(paths, [path(LONG)]);
        Ok(lines(1..=9_000, |number| format!("+{number}")))
    }

    async fn committed(&self, path: &WorkspacePath, _: &GateContext) -> Result<CommittedFile, ToolError> {
        Ok(match self.0.get(path.to_string().as_str()) {
            None => CommittedFile::Absent,
            Some(&"binary") => CommittedFile::Binary,
            Some(text) => CommittedFile::Text((*text).to_owned()),
        })
    }
}

fn session(files: &[(&'static str, &'static str)]) -> Session {
    let mut session = Session::new(files);
    let told = FakeRepository(files.iter().copied().collect());
    session.toolbox = Toolbox::standard(None).with(view_diff_tool(Arc::new(told)));
    session
}

#[test]
fn what_is_staged_is_compared_with_the_commit() {
    let mut session =
        session(&[("a.rs", "one\ntwo\n"), ("b.rs", "b\n"), ("c.png", "binary"), ("same", "s\n")]);
    session.ok("edit", json!({"file_path": "a.rs", "old_string": "two", "new_string": "2"}));
    session.ok("write_file", json!({"file_path": "c.png", "content": "c"}));
    session.ok("write_file", json!({"file_path": "same", "content": "other\n"}));
    session.ok("write_file", json!({"file_path": "same", "content": "s\n"}));
    session.ok("write_file", json!({"file_path": "deep/new.rs", "content": "n\n"}));
    futures::executor::block_on(session.overlay.remove(&path("b.rs"))).expect("it is there");
    insta::assert_snapshot!(session.ok("view_diff", json!({})));
    let items: Vec<_> =
        session.items().iter().map(|item| item.chars().take(40).collect::<String>()).collect();
    assert_eq!(
        items,
        [
            "a.rs at a.rs None: \"diff --git a/a.rs b/",
            "b.rs at b.rs None: \"diff --git a/b.rs b/",
            "notes, hidden: \"[binary in the last comm",
        ]
    );
    assert_eq!(
        session.ok("view_diff", json!({"path": "deep"})),
        "[nothing that git knows differs from the last commit]\n[untracked: deep/new.rs]"
    );
}

#[test]
fn a_long_diff_is_cut_and_says_so() {
    let mut session = session(&[(LONG, "")]);
    let told = session.ok("view_diff", json!({}));
    assert!(told.ends_with("+5000\n[cut after 5000 of 9000 lines; name a path to see the rest]"), "{told}");
    session.limits.output_bytes = 4_096;
    let told = session.ok("view_diff", json!({}));
    assert!(told.len() <= 4_096 && told.contains(" of 9000 lines; name a path"), "{told}");
    assert!(session.refused("view_diff", json!({"file": "a"})).contains("it takes path, staged"));
}
