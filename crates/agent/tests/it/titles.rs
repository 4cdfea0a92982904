//! Titles of conversations that a fast model writes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::channel::oneshot;
use futures::{StreamExt, stream};
use headstart_agent::{Phase, Session};
use headstart_budget::policy::Mode;
use headstart_forked_query::{
    EventStream, FinishReason, Model, ModelError, ModelEvent, ModelRequest, Role, Usage,
};
use headstart_overlay_fs::MemoryTree;
use serde_json::Value;

use crate::harness::{Harness, HarnessOptions, ScriptedModel, lock, text_of};

/// A model that gives every conversation a title and makes no suggestion.
#[derive(Default)]
struct TitleModel {
    title: Mutex<String>,
    /// The requests to the model, except those for suggestions.
    asked: Mutex<Vec<ModelRequest>>,
    /// If it is set, the next answer waits until this is sent or dropped.
    wait: Mutex<Option<oneshot::Receiver<()>>>,
}

#[async_trait]
impl Model for TitleModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let (text, wait) = if request.response_schema.is_some() {
            (r#"{"suggestion": ""}"#.to_owned(), None)
        } else {
            lock(&self.asked).push(request.clone());
            (lock(&self.title).clone(), lock(&self.wait).take())
        };
        let usage = Usage { input_tokens: 40, output_tokens: 4, ..Usage::default() };
        let told =
            [ModelEvent::Text(text), ModelEvent::Usage(usage), ModelEvent::Finished(FinishReason::Stop)];
        let waits = async move {
            if let Some(wait) = wait {
                let _ = wait.await;
            }
            stream::iter(told.map(Ok))
        };
        Ok(Box::pin(stream::once(waits).flatten()))
    }
}

fn harness(setting: &HarnessOptions, title: &str) -> (Harness, Arc<TitleModel>) {
    let titler = Arc::new(TitleModel { title: Mutex::new(title.to_owned()), ..TitleModel::default() });
    let fast = Arc::clone(&titler) as Arc<dyn Model>;
    let tree = Arc::new(MemoryTree::from_files([("notes.txt", "one\n")]).unwrap());
    let model = Arc::new(ScriptedModel::default());
    let main = Arc::clone(&model) as Arc<dyn Model>;
    (Harness::over(setting, tree, model, |_| (main, fast)), titler)
}

fn with_fast_model() -> HarnessOptions {
    HarnessOptions { background: Mode::Always, fast: "fast", ..HarnessOptions::default() }
}

fn title(harness: &Harness) -> String {
    Session::read(lock(&harness.store.kept).as_bytes()).unwrap().title
}

/// A fast model is asked once for a title, and the ledger has the cost.
#[test]
fn a_fast_model_names_the_conversation_once_and_its_cost_is_in_the_ledger() {
    let (mut harness, titler) = harness(&with_fast_model(), "\"What was talked about.\"\n");
    harness.say("talk of the parser");
    assert_eq!(title(&harness), "What was talked about");
    let first = lock(&harness.store.kept).lines().next().unwrap().to_owned();
    assert!(first.contains("talk of the parser"), "until then it is the beginning of the prompt: {first}");
    let costs = harness.lines("summary");
    assert_eq!((&costs[0]["model"], &costs[0]["inputTokens"]), (&Value::from("fast"), &Value::from(40)));

    harness.say("talk more");
    harness.say("talk on");
    let asked = lock(&titler.asked);
    let [request] = &asked[..] else { panic!("{} questions for a title", asked.len()) };
    assert_eq!((request.model.as_str(), request.tools.len(), request.thinking), ("fast", 0, false));
    let said: Vec<_> = request.messages.iter().map(|message| (message.role, text_of(message))).collect();
    assert_eq!((said.len(), &said[0]), (3, &(Role::User, "talk of the parser".to_owned())), "{said:?}");
}

/// Titles are only asked for if a fast model does background work. Otherwise the beginning of the first prompt is the
/// title.
#[test]
fn without_a_fast_model_or_background_work_the_prompt_is_the_title() {
    for (setting, why) in [
        (HarnessOptions { fast: "m", ..with_fast_model() }, "the model of turns does it all"),
        (HarnessOptions { background: Mode::Off, ..with_fast_model() }, "background work is off"),
    ] {
        let (mut harness, titler) = harness(&setting, "A title");
        harness.say("talk of the parser");
        harness.say("talk more");
        assert_eq!((title(&harness).as_str(), lock(&titler.asked).len()), ("talk of the parser", 0), "{why}");
        assert!(harness.lines("summary").is_empty(), "{why}");
    }
}

/// An answer that is no title leaves the conversation with the beginning of its first prompt.
#[test]
fn what_is_no_title_changes_nothing() {
    for answer in ["", " \n", "\"\"", &"word ".repeat(60)] {
        let (mut harness, titler) = harness(&with_fast_model(), answer);
        harness.say("talk of the parser");
        harness.say("talk more");
        assert_eq!(
            (title(&harness).as_str(), lock(&titler.asked).len()),
            ("talk of the parser", 1),
            "{answer:?}"
        );
        assert_eq!(harness.lines("summary").len(), 1, "it was paid for");
    }
}

/// Turns do not wait for a title. A title that the user sets, or the end of background work, drops the request; its
/// cost is unknown.
#[test]
fn nobody_waits_for_a_title_and_one_of_the_users_own_or_an_end_gives_it_up() {
    for by_title in [true, false] {
        let (mut harness, titler) = harness(&with_fast_model(), "A title");
        let (release, wait) = oneshot::channel();
        *lock(&titler.wait) = Some(wait);
        harness.say("talk of the parser");
        assert_eq!(harness.say("talk more").phase, Phase::Idle);
        assert_eq!((title(&harness).as_str(), harness.lines("summary").len()), ("talk of the parser", 0));
        if by_title {
            harness.agent.set_title("mine");
        } else {
            harness.agent.set_background(Mode::Off);
        }
        harness.settle();
        // The request may have been given up already, so that nobody receives this.
        let _ = release.send(());
        harness.say("talk on");
        assert_eq!(title(&harness), if by_title { "mine" } else { "talk of the parser" });
        let costs: Vec<_> = harness.lines("summary").iter().map(|line| line["unmeasured"].clone()).collect();
        assert_eq!(costs, [Value::from(1)], "what it cost nobody says");
        harness.close();
    }
}

/// A title belongs to what was said. When that is forgotten, the next prompt is the title until the model gives
/// another one.
#[test]
fn a_conversation_that_begins_anew_gets_a_title_of_its_own() {
    for by_user in [true, false] {
        let (mut harness, titler) = harness(&with_fast_model(), "The parser");
        harness.say("talk of the parser");
        if by_user {
            harness.agent.set_title("mine");
        }
        harness.agent.clear().unwrap();
        harness.settle();
        assert_eq!(title(&harness), "");
        "The printer".clone_into(&mut lock(&titler.title));
        harness.say("talk of the printer");
        assert_eq!((title(&harness).as_str(), lock(&titler.asked).len()), ("The printer", 2));
        let prompt_as_title = Session::title_line("talk of the printer");
        assert!(lock(&harness.store.kept).contains(&prompt_as_title));
        harness.say("talk more");
        assert_eq!((title(&harness).as_str(), lock(&titler.asked).len()), ("The printer", 2), "once");
    }
}

/// A title that was asked for before does not arrive in the conversation that begins then.
#[test]
fn a_title_of_what_is_forgotten_does_not_come_later() {
    let (mut harness, titler) = harness(&with_fast_model(), "The parser");
    let (release, wait) = oneshot::channel();
    *lock(&titler.wait) = Some(wait);
    harness.say("talk of the parser");
    harness.agent.clear().unwrap();
    harness.settle();
    let _ = release.send(());
    harness.settle();
    assert_eq!(title(&harness), "");
    // What the user calls it counts, although nothing was said yet.
    harness.agent.set_title("mine");
    harness.say("talk of the printer");
    assert_eq!((title(&harness).as_str(), lock(&titler.asked).len()), ("mine", 1));
}
