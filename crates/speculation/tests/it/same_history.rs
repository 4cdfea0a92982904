//! For random scripts of tool calls, a speculation and its accept leave the same tree and the same history as the
//! script in the foreground, and the next turn sends the same request. The scripts run one after the other, each of them
//! accepted before the next, in memory and on a real disk.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and looks at the real disk"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::differential::{FILES, Script, answers, script};
use crate::support::{Fixture, Reply, accepted, call, calls, path, says};
use futures::executor::block_on;
use headstart_forked_query::{Message, ModelRequest};
use headstart_overlay_fs::{MemoryTree, OsTree, Tree, Workspace};
use headstart_speculation::{Acceptance, Ending, Limits, Speculation, Status, Transcript};
use headstart_tool_gate::ApprovalMode;
use proptest::prelude::*;
use serde_json::json;

/// An earlier conversation, whose calls have ids that no provider gave.
fn conversation(turns: usize) -> Vec<Message> {
    let mut history = Fixture::history();
    for turn in 0..turns {
        let fixture =
            Fixture::new(ApprovalMode::AutoEdit, [calls([call("ls", &json!({}))]), says("Looked.")]);
        history.extend(foreground_turn(&fixture, &history, &format!("look {turn}")));
    }
    history
}

fn foreground_turn(fixture: &Fixture, history: &[Message], prompt: &str) -> Vec<Message> {
    let request = ModelRequest { messages: history.to_vec(), ..fixture.request() };
    let (turn, _events) =
        fixture.engine.turn(fixture.model.clone(), request, Transcript::new(prompt), Limits::default());
    assert_eq!(block_on(turn.run()), Ending::Completed);
    turn.transcript().messages
}

fn prompt(step: usize) -> String {
    format!("do step number {step}")
}

fn fixture(workspace: Arc<dyn Workspace>, tree: Arc<MemoryTree>, scripts: &[Script]) -> Fixture {
    let mut all: Vec<Reply> = scripts.iter().flat_map(|script| answers(script)).collect();
    all.extend(answers(&[vec![
        ("glob", json!({ "pattern": "**/*" })),
        ("read_file", json!({ "file_path": "a.txt" })),
    ]]));
    let fixture = Fixture::over(workspace, tree, ApprovalMode::AutoEdit, all);
    (1..=scripts.len()).for_each(|step| fixture.model.suggest(&prompt(step)));
    fixture
}

/// The next turn in the foreground: the requests that it sends to the model, and the messages that it adds.
fn turn_after(fixture: &Fixture, history: &[Message]) -> (Vec<ModelRequest>, Vec<Message>) {
    let asked_before = fixture.model.requests.lock().unwrap().len();
    let added = foreground_turn(fixture, history, "and now");
    let asked = fixture.model.requests.lock().unwrap()[asked_before..].to_vec();
    (asked, added)
}

/// Plays all steps in the foreground. Returns the whole conversation.
fn in_foreground(fixture: &Fixture, steps: usize, mut history: Vec<Message>) -> Vec<Message> {
    for step in 0..steps {
        let added = foreground_turn(fixture, &history, &prompt(step));
        history.extend(added);
    }
    history
}

/// Runs one step ahead.
fn ahead(fixture: &Fixture, step: usize, history: &[Message]) -> Speculation {
    let params = fixture.params_of(history);
    let (speculation, driver, _events) =
        fixture.engine.start(format!("s{step}"), &params, &prompt(step)).unwrap();
    block_on(driver);
    assert_eq!(speculation.status(), Status::Completed);
    assert_eq!(block_on(speculation.next()).unwrap().best().as_str(), prompt(step + 1));
    speculation
}

fn on_disk() -> (tempfile::TempDir, Arc<dyn Workspace>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in FILES {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let tree = Arc::new(OsTree::open(folder.path()).unwrap());
    (folder, tree)
}

fn files_below(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                files.insert(name + "/", Vec::new());
                walk(root, &path, files);
            } else {
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(root, root, &mut files);
    files
}

fn steps() -> impl Strategy<Value = Vec<Script>> {
    prop::collection::vec(script(), 1..=3)
}

fn in_memory() -> Arc<MemoryTree> {
    Arc::new(MemoryTree::from_files(FILES).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_same_in_memory(scripts in steps(), turns in prop::sample::select(vec![0, 1, 9, 10, 12])) {
        let before = conversation(turns);
        let (one, other) = (in_memory(), in_memory());
        let direct = fixture(one.clone(), one, &scripts);
        let speculated = fixture(other.clone(), other, &scripts);
        let expected = in_foreground(&direct, scripts.len(), before.clone());
        let first = ahead(&speculated, 0, &before);
        prop_assert_eq!(speculated.tree.snapshot(), in_memory().snapshot(), "nothing changes before an accept");
        let mut history = before;
        history.extend(accepted(block_on(first.accept()).unwrap()).transcript.messages);
        for step in 1..scripts.len() {
            let next = ahead(&speculated, step, &history);
            history.extend(accepted(block_on(next.accept()).unwrap()).transcript.messages);
        }
        prop_assert_eq!(&history, &expected);
        prop_assert_eq!(direct.tree.snapshot(), speculated.tree.snapshot());
        prop_assert_eq!(turn_after(&speculated, &history), turn_after(&direct, &expected));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// The user edits a file while work waits for its accept. The accept must notice it, or leave the edit as it is.
    #[test]
    fn an_edit_before_an_accept_is_never_lost(script in script(), place in 0..FILES.len(), prepends in any::<bool>()) {
        let tree = in_memory();
        let fixture = fixture(tree.clone(), tree, &[script]);
        let work = ahead(&fixture, 0, &Fixture::history());
        let at = path(FILES[place].0);
        let old = block_on(fixture.tree.read(&at)).unwrap();
        let mine = if prepends { [b"mine\n\n\n\n", &*old].concat() } else { b"mine\n".to_vec() };
        fixture.tree.write(&at, mine.clone());
        let before = fixture.tree.snapshot();
        match block_on(work.accept()) {
            Ok(Acceptance::Accepted(given)) => {
                let now = block_on(fixture.tree.read(&at)).unwrap();
                prop_assert!(now.starts_with(b"mine\n"), "{:?}", String::from_utf8_lossy(&now));
                prop_assert!(now == mine || given.merged.contains(&at) || prepends);
            }
            Ok(Acceptance::Conflict(found)) => {
                prop_assert!(found.iter().any(|conflict| conflict.path == at), "{:?}", found);
                prop_assert_eq!(fixture.tree.snapshot(), before);
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_same_on_a_real_disk(scripts in steps()) {
        let before = Fixture::history();
        let unused = Arc::new(MemoryTree::new());
        let (one, tree) = on_disk();
        let direct = fixture(tree, unused.clone(), &scripts);
        let (other, tree) = on_disk();
        let untouched = files_below(other.path());
        let speculated = fixture(tree, unused, &scripts);
        let expected = in_foreground(&direct, scripts.len(), before.clone());
        let mut history = before;
        for step in 0..scripts.len() {
            let next = ahead(&speculated, step, &history);
            if step == 0 {
                prop_assert_eq!(files_below(other.path()), untouched.clone(), "nothing changes before an accept");
            }
            history.extend(accepted(block_on(next.accept()).unwrap()).transcript.messages);
        }
        prop_assert_eq!(&history, &expected);
        prop_assert_eq!(files_below(one.path()), files_below(other.path()));
        prop_assert_eq!(turn_after(&speculated, &history), turn_after(&direct, &expected));
    }
}
