//! For random scripts of tool calls, a speculation and its accept leave the same tree and the same history as the
//! script in the foreground, and the next turn sends the same request. The scripts run as one step or as several on top
//! of each other, accepted one by one or at once, in memory and on a real disk.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and looks at the real disk"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::differential::{FILES, Script, answers, script};
use crate::support::{Fixture, Reply, accepted, call, calls, path, says, spawn};
use futures::executor::{LocalPool, block_on};
use headstart_forked_query::{Message, ModelRequest};
use headstart_overlay_fs::{ChangeSet, CommitOptions, CommitOutcome, MemoryTree, OsTree, Tree, Workspace};
use headstart_speculation::{AcceptError, Acceptance, Ending, Limits, Speculation, Status, Transcript};
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
    let mut fixture = Fixture::over(workspace, tree, ApprovalMode::AutoEdit, all);
    fixture.engine.limits.depth = u32::try_from(scripts.len()).unwrap();
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

/// Runs all steps ahead, on top of each other.
fn ahead(fixture: &Fixture, steps: usize, history: &[Message]) -> Vec<Speculation> {
    let params = fixture.params_of(history);
    let (first, driver, _events) = fixture.engine.start("s", &params, &prompt(0)).unwrap();
    let mut pool = LocalPool::new();
    spawn(&pool, driver);
    pool.run_until_stalled();
    let mut all = vec![first];
    while all.len() < steps {
        let above = pool.run_until(all[all.len() - 1].above()).unwrap();
        all.push(above);
    }
    for (step, speculation) in all.iter().enumerate() {
        assert_eq!(speculation.status(), Status::Completed);
        assert_eq!(speculation.prompt(), prompt(step));
    }
    all
}

/// Accepts the steps one by one. Returns the whole conversation.
fn accept_all(steps: &[Speculation], mut history: Vec<Message>) -> Vec<Message> {
    for step in steps {
        history.extend(accepted(block_on(step.accept()).unwrap()).transcript.messages);
    }
    history
}

/// The changes of all steps together.
fn at_once(steps: &[Speculation]) -> ChangeSet {
    steps.iter().fold(ChangeSet::default(), |below, step| below.then(&step.changes()))
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
        let steps = ahead(&speculated, scripts.len(), &before);
        prop_assert_eq!(speculated.tree.snapshot(), in_memory().snapshot(), "nothing changes before an accept");
        let both = at_once(&steps);

        let expected = in_foreground(&direct, scripts.len(), before.clone());
        let history = accept_all(&steps, before);
        prop_assert_eq!(&history, &expected);
        prop_assert_eq!(direct.tree.snapshot(), speculated.tree.snapshot());
        prop_assert_eq!(turn_after(&speculated, &history), turn_after(&direct, &expected));

        let twin = in_memory();
        let outcome = block_on(twin.commit(&both, CommitOptions::default())).unwrap();
        prop_assert!(matches!(outcome, CommitOutcome::Committed(_)), "{:?}", outcome);
        prop_assert_eq!(twin.snapshot(), direct.tree.snapshot());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// The user edits a file between two accepts. The step above must notice it, or leave the edit as it is.
    #[test]
    fn an_edit_between_two_accepts_is_never_lost(
        scripts in prop::collection::vec(script(), 2..=3),
        place in 0..FILES.len(),
        prepends in any::<bool>(),
    ) {
        let tree = in_memory();
        let fixture = fixture(tree.clone(), tree, &scripts);
        let steps = ahead(&fixture, scripts.len(), &Fixture::history());
        accepted(block_on(steps[0].accept()).unwrap());
        let at = path(FILES[place].0);
        let old = block_on(fixture.tree.read(&at)).unwrap();
        let mine = if prepends { [b"mine\n\n\n\n", &*old].concat() } else { b"mine\n".to_vec() };
        fixture.tree.write(&at, mine.clone());
        for step in &steps[1..] {
            let before = fixture.tree.snapshot();
            match block_on(step.accept()) {
                Ok(Acceptance::Accepted(given)) => {
                    let now = block_on(fixture.tree.read(&at)).unwrap();
                    prop_assert!(now.starts_with(b"mine\n"), "{:?}", String::from_utf8_lossy(&now));
                    prop_assert!(now == mine || given.merged.contains(&at) || prepends);
                }
                Ok(Acceptance::Conflict(found)) => {
                    prop_assert!(found.iter().any(|conflict| conflict.path == at), "{:?}", found);
                    prop_assert_eq!(fixture.tree.snapshot(), before);
                }
                Err(AcceptError::BaseNotAccepted { .. }) => prop_assert_eq!(fixture.tree.snapshot(), before),
                other => prop_assert!(false, "{:?}", other),
            }
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
        let steps = ahead(&speculated, scripts.len(), &before);
        prop_assert_eq!(files_below(other.path()), untouched, "nothing changes before an accept");
        let both = at_once(&steps);

        let expected = in_foreground(&direct, scripts.len(), before.clone());
        let history = accept_all(&steps, before);
        prop_assert_eq!(&history, &expected);
        prop_assert_eq!(files_below(one.path()), files_below(other.path()));
        prop_assert_eq!(turn_after(&speculated, &history), turn_after(&direct, &expected));

        let (twin, tree) = on_disk();
        let outcome = block_on(tree.commit(&both, CommitOptions::default())).unwrap();
        prop_assert!(matches!(outcome, CommitOutcome::Committed(_)), "{:?}", outcome);
        prop_assert_eq!(files_below(twin.path()), files_below(one.path()));
    }
}
