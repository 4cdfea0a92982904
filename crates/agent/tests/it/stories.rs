//! Stories: what a user does and what they see, written once in `tests/stories` and played by every front end.
//!
//! A story is a file `NAME.json` in which a recording takes the place of a model. The expected views at the marked
//! steps are in `NAME.views.json`, which `STORIES=write` writes anew. The npm package plays the same files
//! (`crates/wasm/npm/trial/stories.test.mjs`).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the stories are files")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use headstart_agent::{EditKind, Session, Subject, UserAnswer, View};
use headstart_budget::policy::Mode;
use headstart_forked_query::{Model, Role};
use headstart_overlay_fs::{Choice, Keep, MemoryTree, WorkspacePath};
use headstart_providers::{Recording, Replay};
use headstart_speculation::Host;
use headstart_tool_gate::ApprovalMode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::harness::{Harness, HarnessOptions, ScriptedModel, lock, text_of};

/// How long a story waits for a view, in the time of a clock that only the test moves.
const PATIENCE_MS: u64 = 30_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Story {
    /// What the story shows, for the message if it fails.
    #[serde(rename = "story")]
    says: String,
    files: BTreeMap<String, String>,
    #[serde(default = "auto_edit")]
    mode: ApprovalMode,
    #[serde(default = "always")]
    background: String,
    recording: Recording,
    steps: Vec<Value>,
    then: Expected,
    /// Front ends in which the story goes differently, with the reason.
    #[serde(default, rename = "without")]
    _without: BTreeMap<String, String>,
}

fn auto_edit() -> ApprovalMode {
    ApprovalMode::AutoEdit
}

fn always() -> String {
    "always".to_owned()
}

/// What must hold at the end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    files: BTreeMap<String, String>,
    /// The user's messages to the model, as they are kept in the session.
    told: Vec<String>,
    /// The outcome of each suggestion.
    outcomes: Vec<String>,
}

struct StoryRunner {
    setting: HarnessOptions,
    tree: Arc<MemoryTree>,
    recording: Recording,
    replay: Option<Arc<Replay>>,
    outcomes: Vec<String>,
    views: Map<String, Value>,
}

impl StoryRunner {
    /// A conversation over the same files. The recording goes on where it was if there was a conversation before.
    fn harness(&mut self) -> Harness {
        let recording = self.recording.clone();
        let replay = &mut self.replay;
        Harness::over(&self.setting, Arc::clone(&self.tree), Arc::new(ScriptedModel::default()), |host| {
            let host = Arc::clone(host);
            let sleep = move |time: Duration| {
                let host = Arc::clone(&host);
                async move { host.sleep(time).await }.boxed()
            };
            let replay = replay.get_or_insert_with(|| Arc::new(Replay::new(recording, Arc::new(sleep))));
            let model = Arc::clone(replay) as Arc<dyn Model>;
            (Arc::clone(&model), model)
        })
    }

    fn play(&mut self, steps: &[Value]) {
        let mut harness = self.harness();
        for (number, step) in steps.iter().enumerate() {
            let said = step.as_object().unwrap_or_else(|| panic!("step {number} is no object: {step}"));
            let (verb, about) = said.iter().next().unwrap_or_else(|| panic!("step {number} is empty"));
            if verb == "restart" {
                self.setting.kept = self.over(harness);
                harness = self.harness();
                continue;
            }
            let error = self.act(&mut harness, verb, about, number);
            let expected = said.get("refused").map(|why| why.as_str().unwrap().to_owned());
            assert_eq!(error, expected, "step {number}: {step}");
        }
        self.setting.kept = self.over(harness);
    }

    /// Ends the conversation and returns its kept lines.
    fn over(&mut self, harness: Harness) -> String {
        let harness = harness.close();
        self.outcomes.extend(harness.outcomes());
        lock(&harness.store.kept).clone()
    }

    /// Does a step. Returns the reason if it is refused.
    fn act(&mut self, harness: &mut Harness, verb: &str, about: &Value, number: usize) -> Option<String> {
        let text = || about.as_str().unwrap_or_else(|| panic!("step {number}: {verb} wants a text"));
        let agent = harness.agent.clone();
        let done = match verb {
            "submit" => agent.submit(text()).map(|_| ()),
            "type" => {
                agent.edited(text(), EditKind::Typed);
                Ok(())
            }
            "take" => agent.take(text()),
            "dismiss" => {
                agent.dismiss();
                Ok(())
            }
            "next" => {
                agent.next_suggestion();
                Ok(())
            }
            "suggest" => {
                agent.suggest();
                Ok(())
            }
            "interrupt" => agent.interrupt(),
            "retry" => agent.retry(),
            "answer" => {
                let question =
                    harness.settle().question.clone().unwrap_or_else(|| panic!("step {number}: no question"));
                agent.answer(question.id, answer(about, &question.about))
            }
            "write" => {
                for (path, content) in about.as_object().unwrap() {
                    let path = WorkspacePath::parse(path).unwrap();
                    match content.as_str() {
                        Some(content) => self.tree.write(&path, content),
                        None => self.tree.remove(&path),
                    }
                }
                agent.files_changed();
                Ok(())
            }
            "background" => {
                agent.set_background(mode(text()));
                Ok(())
            }
            "mode" => {
                lock(&harness.host.rules).mode = serde_json::from_value(about.clone()).unwrap();
                agent.rules_changed();
                Ok(())
            }
            "pass" => {
                harness.advance(about.as_u64().unwrap());
                Ok(())
            }
            "until" => {
                until(harness, about, number);
                Ok(())
            }
            "view" => {
                let seen = shown(&harness.settle());
                self.views.insert(text().to_owned(), seen);
                Ok(())
            }
            other => panic!("step {number}: there is no step {other:?}"),
        };
        harness.settle();
        done.err().map(|error| format!("{error:?}").to_lowercase())
    }
}

fn answer(about: &Value, asked: &Subject) -> UserAnswer {
    if let Some(why) = about["no"].as_str() {
        return UserAnswer::NoBecause(why.to_owned());
    }
    if let Some(keep) = about["keep"].as_array() {
        let Subject::Conflicts { conflicts, .. } = asked else { panic!("the question is about {asked:?}") };
        let keep = keep.iter().map(|keep| serde_json::from_value::<Keep>(keep.clone()).unwrap());
        let choices =
            conflicts.iter().zip(keep).map(|(conflict, keep)| Choice { conflict: conflict.clone(), keep });
        return UserAnswer::Choices(choices.collect());
    }
    match about.as_str() {
        Some("yes") => UserAnswer::Yes,
        Some("always") => UserAnswer::Always,
        Some("no") => UserAnswer::No,
        Some("anew") => UserAnswer::Anew,
        _ => panic!("there is no answer {about}"),
    }
}

fn mode(word: &str) -> Mode {
    match word {
        "off" => Mode::Off,
        "auto" => Mode::Auto,
        "always" => Mode::Always,
        _ => panic!("there is no background {word:?}"),
    }
}

/// Lets time pass until the view has all of this.
fn until(harness: &mut Harness, wanted: &Value, number: usize) {
    for _ in 0..PATIENCE_MS / 50 {
        let view = harness.settle();
        if holds(&whole(&view), wanted) {
            return;
        }
        harness.advance(50);
    }
    panic!("step {number}: in vain for {wanted}, there is {:#}", shown(&harness.settle()));
}

/// Whether a view has what is wanted: of an object the named fields, of a list its last elements; `null` stands for a
/// missing field.
fn holds(there: &Value, wanted: &Value) -> bool {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| holds(there.get(name).unwrap_or(&Value::Null), wanted))
        }
        (Value::Array(there), Value::Array(wanted)) => {
            let skipped = there.len().checked_sub(wanted.len());
            skipped.is_some_and(|skipped| {
                there[skipped..].iter().zip(wanted).all(|(one, other)| holds(one, other))
            })
        }
        (there, wanted) => there == wanted,
    }
}

/// The view with its items, as JSON.
fn whole(view: &View) -> Value {
    let mut whole = serde_json::to_value(view).unwrap();
    whole["items"] = view.items.iter().map(|item| serde_json::to_value(&**item).unwrap()).collect();
    whole
}

/// The view without ids, numbers and times, so that it is the same in all front ends.
fn shown(view: &View) -> Value {
    let mut whole = whole(view);
    plain(&mut whole);
    whole
}

fn plain(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                !matches!(
                    name.as_str(),
                    "revision" | "id" | "tookMs" | "savedMs" | "taken" | "key" | "tokens"
                ) || value.is_object()
            });
            fields.values_mut().for_each(plain);
        }
        Value::Array(values) => values.iter_mut().for_each(plain),
        _ => {}
    }
}

fn play(file: &Path) {
    let text = std::fs::read_to_string(file).unwrap();
    let story: Story =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let tree = Arc::new(MemoryTree::from_files(story.files).unwrap());
    let setting =
        HarnessOptions { mode: story.mode, background: mode(&story.background), ..HarnessOptions::default() };
    let mut runner = StoryRunner {
        setting,
        tree: Arc::clone(&tree),
        recording: story.recording,
        replay: None,
        outcomes: Vec::new(),
        views: Map::new(),
    };
    runner.play(&story.steps);
    let kept =
        Session::read(runner.setting.kept.as_bytes()).map(|session| session.history).unwrap_or_default();
    let told: Vec<_> = kept.iter().filter(|message| message.role == Role::User).map(text_of).collect();
    let then = (files(&tree), told, runner.outcomes);
    assert_eq!(then, (story.then.files, story.then.told, story.then.outcomes), "{}", story.says);

    let kept = file.with_extension("views.json");
    let views = written(&runner.views);
    if std::env::var_os("STORIES").is_some_and(|what| what == "write") {
        return std::fs::write(&kept, views).unwrap();
    }
    let expected = std::fs::read_to_string(&kept).unwrap_or_default();
    assert_eq!(views, expected, "{}; STORIES=write keeps what is there now", story.says);
}

/// Views as JSON with one item per line.
fn written(views: &Map<String, Value>) -> String {
    let views: Vec<_> =
        views.iter().map(|(name, view)| format!("  {}: {{\n{}\n  }}", json!(name), fields(view))).collect();
    format!("{{\n{}\n}}\n", views.join(",\n"))
}

fn fields(view: &Value) -> String {
    let fields = view.as_object().unwrap().iter().map(|(name, value)| match value {
        Value::Array(items) if name == "items" => {
            let items: Vec<_> = items.iter().map(|item| format!("      {item}")).collect();
            format!("    \"items\": [\n{}\n    ]", items.join(",\n"))
        }
        value => format!("    {}: {value}", json!(name)),
    });
    fields.collect::<Vec<_>>().join(",\n")
}

/// The contents of the files, by path.
fn files(tree: &MemoryTree) -> BTreeMap<String, String> {
    let files = tree.snapshot().into_iter().filter(|(path, _)| !path.ends_with('/'));
    files.map(|(path, content)| (path, String::from_utf8(content).unwrap())).collect()
}

/// Plays every story, and compares its views with the recorded ones.
#[test]
fn every_story_goes_as_it_is_told() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/stories");
    let mut stories: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.to_string_lossy().ends_with(".json") && !path.to_string_lossy().ends_with(".views.json")
        })
        .collect();
    stories.sort();
    assert!(12 <= stories.len(), "{stories:?}");
    let failed: Vec<_> =
        stories.iter().filter(|story| std::panic::catch_unwind(|| play(story)).is_err()).collect();
    assert!(failed.is_empty(), "these do not, see above: {failed:#?}");
}
