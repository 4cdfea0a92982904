//! The conversation as a front end shows it; `npm/src/agent.ts` makes a class of it.

mod store;
mod update_reader;

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use headstart_agent::{
    ActionError, AfterDecline, AgentHandle, AgentOptions, EditKind, Matching, Ports, Runtime, Session,
    Subject, Submission, UserAnswer, Window, agent,
};
use headstart_budget::ledger::{Source, read};
use headstart_budget::policy::{Habits, Mode, Policy, Tariff};
use headstart_budget::{EntryBuilder, Metering};
use headstart_followup_state::filter;
use headstart_forked_query::{Model, Money, Price};
use headstart_overlay_fs::{Choice, Keep, Tree};
use headstart_providers::Priority;
use headstart_speculation::Host;
use headstart_tool_gate::{AheadWrites, GateContext};
use js_sys::Promise;
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::wasm_bindgen;

pub use self::store::KeepPort;
use self::store::{JsLedger, JsStore};
use self::update_reader::UpdateReader;
use crate::engine::engine;
use crate::failure::{Failure, json};
use crate::host::PortHost;
use crate::input::parse;
use crate::model::PortModel;
use crate::options::Options;
use crate::port::HostPort;
use crate::promise::promise;
use crate::prompt_attachments::AttachmentFinder;
use crate::rules::Rules;
use crate::tree::TreeHandle;

/// The settings of a conversation, in addition to those of its engine.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    system: String,
    #[serde(default)]
    model_name: String,
    #[serde(default)]
    background: Background,
    #[serde(default = "yes")]
    speculation: bool,
    #[serde(default = "one")]
    candidates: usize,
    #[serde(default = "yes")]
    attended: bool,
    #[serde(default)]
    model: ModelFacts,
    restore: Option<String>,
    /// The lines of the project's ledger, and what was learned of the user.
    #[serde(default)]
    ledger: String,
    habits: Option<Habits>,
    /// A random id, which no other conversation has.
    id: String,
    keeps_session: bool,
    beside: AttachmentSettings,
}

/// What is sent along with prompts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AttachmentSettings {
    /// The names of the mentions that callbacks can tell about.
    mentions: Vec<String>,
    /// Whether the project's rules are sent to the model.
    rules: bool,
}

/// What is known of a model besides its name.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ModelFacts {
    /// Whether its tokens cost nothing.
    #[serde(default)]
    free: bool,
    /// How many tokens it sees at once.
    window: Option<u64>,
    price: Option<PriceFields>,
}

/// The price of a million tokens.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PriceFields {
    input: Money,
    output: Money,
    cached: Option<Money>,
    cache_write: Option<Money>,
}

impl ModelFacts {
    fn tariff(&self, model: &str) -> Tariff {
        let price = self.price.as_ref().map(|given| {
            let price = Price::new(given.input, given.cached.unwrap_or(given.input), given.output);
            (model.to_owned(), Price { cache_write: given.cache_write.unwrap_or(given.input), ..price })
        });
        let tariff = Tariff::new(model, price.into_iter().collect());
        if self.free { tariff.with_free([model.to_owned()]) } else { tariff }
    }

    fn window(&self) -> Option<Window> {
        self.window.map(|tokens| Window { tokens, ..Window::default() })
    }
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase")]
enum Background {
    Off,
    #[default]
    Auto,
    Always,
}

impl From<Background> for Mode {
    fn from(background: Background) -> Self {
        match background {
            Background::Off => Self::Off,
            Background::Auto => Self::Auto,
            Background::Always => Self::Always,
        }
    }
}

fn yes() -> bool {
    true
}

fn one() -> usize {
    1
}

/// The tasks of the page or the process.
struct JsRuntime;

impl Runtime for JsRuntime {
    fn unix_ms(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "milliseconds since 1970"
        )]
        let now = js_sys::Date::now() as u64;
        now
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) -> Option<BoxFuture<'static, ()>> {
        js_sys::futures::spawn_local(work);
        None
    }
}

/// A conversation.
#[wasm_bindgen]
pub struct Conversing {
    agent: AgentHandle,
    update_reader: Rc<UpdateReader>,
    host: PortHost,
    beside: Arc<AttachmentFinder>,
    tree: Arc<dyn Tree>,
    ledger: Arc<JsLedger>,
    /// The names of the developer's own tools.
    own_tools: Vec<String>,
}

/// The user's answer to a question.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
enum AnswerFields {
    Yes,
    /// Yes to a call, and to calls like it for the rest of the session.
    Always,
    No,
    /// No to a call; the model is told why.
    NoBecause {
        why: String,
    },
    /// What is kept for each conflict, in the order of the conflicts.
    Keep {
        keep: Vec<Keep>,
    },
    Anew,
}

impl AnswerFields {
    fn into_answer(self, asked: &Subject) -> UserAnswer {
        match self {
            Self::Yes => UserAnswer::Yes,
            Self::Always => UserAnswer::Always,
            Self::No => UserAnswer::No,
            Self::Keep { keep } => {
                let conflicts = match asked {
                    Subject::Conflicts { conflicts, .. } => conflicts.as_slice(),
                    _ => &[],
                };
                let choices = conflicts.iter().zip(keep);
                let choices = choices.map(|(conflict, keep)| Choice { conflict: conflict.clone(), keep });
                UserAnswer::Choices(choices.collect())
            }
            Self::NoBecause { why } => UserAnswer::NoBecause(why),
            Self::Anew => UserAnswer::Anew,
        }
    }
}

#[wasm_bindgen]
impl Conversing {
    /// `options`, `rules` and `settings` are JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(
        options: &str,
        rules: &str,
        settings: &str,
        port: HostPort,
        keep: KeepPort,
        tree: TreeHandle,
    ) -> Result<Self, Failure> {
        let settings: Settings = parse("", settings)?;
        let restore = settings.restore.map(|lines| Session::read(lines.as_bytes())).transpose();
        let restore = restore.map_err(|error| Failure::input("restore", error.to_string()))?;
        let own_tools = parse::<Options>("", options)?.tools.into_iter().map(|tool| tool.name).collect();
        let (mut engine, host) = engine(options, rules, port, tree)?;
        let beside = Arc::new(AttachmentFinder {
            callbacks: Arc::clone(&host.callbacks),
            toolbox: engine.toolbox.clone(),
            kinds: AttachmentFinder::parse_mention_kinds(&settings.beside.mentions)?,
            rules: settings.beside.rules,
            window: Mutex::new(settings.model.window),
        });
        let host = PortHost { beside: Some(Arc::clone(&beside)), ..host };
        engine.host = Arc::new(host.clone());
        let tree = Arc::clone(&engine.workspace) as Arc<dyn Tree>;
        let entries = EntryBuilder::new(Source::Chat, settings.model.tariff(&settings.model_name));
        let policy = Policy { mode: settings.background.into(), ..Policy::default() };
        let habits = settings.habits.filter(Habits::is_valid).unwrap_or_default();
        let past = read(settings.ledger.as_bytes()).entries;
        let store = Arc::new(JsStore::new(keep));
        let ledger = Arc::new(JsLedger::new(Arc::clone(&store), habits.clone()));
        let options = AgentOptions {
            system: settings.system,
            model: settings.model_name,
            restore,
            window: settings.model.window(),
            metering: Metering::new(entries, policy, habits, &past),
            suggestions: true,
            speculation: settings.speculation,
            candidates: settings.candidates,
            // Its users are not told what words took, so only the guess itself takes the work.
            matching: Matching::Off,
            attended: settings.attended,
            titles: true,
            after_decline: AfterDecline::default(),
            events: false,
            id: settings.id,
        };
        let callbacks = Arc::clone(&host.callbacks);
        let ports = Ports {
            engine,
            model: Arc::new(PortModel { callbacks, priority: Priority::Foreground }) as Arc<dyn Model>,
            runtime: Arc::new(JsRuntime),
            ledger: Arc::clone(&ledger) as _,
            session: settings.keeps_session.then_some(store as _),
        };
        let (agent, driver, updates) = agent(options, ports);
        js_sys::futures::spawn_local(driver.run());
        Ok(Self {
            agent,
            update_reader: Rc::new(UpdateReader::new(updates)),
            host,
            beside,
            tree,
            ledger,
            own_tools,
        })
    }

    /// Everything that there is to draw, as JSON: `{"view", "items"}`.
    pub fn view(&self) -> String {
        #[derive(Serialize)]
        struct Whole<'a> {
            view: &'a headstart_agent::View,
            items: Vec<&'a headstart_agent::Item>,
        }
        let view = self.agent.view();
        json(&Whole { view: &view, items: view.items.iter().map(|item| &**item).collect() })
    }

    /// What has changed since the last call, as JSON: `{"view", "items"}`; nothing if nothing has changed.
    pub fn update(&self) -> Option<String> {
        self.update_reader.take()
    }

    /// Waits until something has changed. The answer says whether more may change later.
    pub fn changed(&self) -> Promise {
        let update_reader = Rc::clone(&self.update_reader);
        promise(Box::pin(async move { Ok(update_reader.changed().await.into()) }))
    }

    /// Sends a prompt. Returns `begins`, `queued`, or the word for why it is refused.
    pub fn submit(&self, prompt: &str) -> String {
        let error_code = match self.agent.submit(prompt) {
            Ok(Submission::Started) => "begins",
            Ok(Submission::Queued) => "queued",
            Err(error) => error_code(error),
        };
        error_code.to_owned()
    }

    /// Reports the text that the line holds now; `how` is `typed`, `recalled`, or another word if it was changed
    /// otherwise.
    pub fn edited(&self, text: &str, how: &str) {
        let edit = match how {
            "typed" => EditKind::Typed,
            "recalled" => EditKind::Recalled,
            _ => EditKind::Changed,
        };
        self.agent.edited(text, edit);
    }

    /// Takes the suggestion that the user sees. Returns the word for why it is refused, if it is.
    #[wasm_bindgen(js_name = takeSuggestion)]
    pub fn take_suggestion(&self, shown: &str) -> Option<String> {
        error_code_of(self.agent.take(shown))
    }

    /// Shows the next of several suggestions, or the previous one.
    pub fn turn(&self, forward: bool) {
        if forward {
            self.agent.next_suggestion();
        } else {
            self.agent.previous_suggestion();
        }
    }

    /// Dismisses the suggestion, because the user does not want it.
    pub fn dismiss(&self) {
        self.agent.dismiss();
    }

    /// Answers a question; `answer` is JSON. Returns the word for why it is refused, if it is.
    pub fn answer(&self, question: &str, answer: &str) -> Result<Option<String>, Failure> {
        let fields: AnswerFields = parse("answer", answer)?;
        let view = self.agent.view();
        let stale = || Some(error_code(ActionError::Stale).to_owned());
        let asked = view.question.as_ref().filter(|asked| asked.id.to_string() == question);
        let Some(asked) = asked else { return Ok(stale()) };
        Ok(error_code_of(self.agent.answer(asked.id, fields.into_answer(&asked.about))))
    }

    /// What may run for the rest of the session, as JSON.
    pub fn allowed(&self) -> String {
        json(&self.agent.session_rules().iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    /// Takes back what was allowed in these words, so that the user is asked again. Returns whether it was allowed.
    #[wasm_bindgen(js_name = askAgain)]
    pub fn ask_again(&self, words: &str) -> bool {
        let allowed = self.agent.session_rules();
        let rule = allowed.iter().find(|rule| rule.to_string() == words);
        rule.is_some_and(|rule| self.agent.remove_session_rule(rule))
    }

    /// Forgets what was said. Returns the word for why it is refused, if it is.
    pub fn clear(&self) -> Option<String> {
        error_code_of(self.agent.clear())
    }

    /// Sums up what was said except for the last turns. Returns the word for why it is refused, if it is.
    pub fn compact(&self) -> Option<String> {
        error_code_of(self.agent.compact())
    }

    /// Sets the title of the conversation, if the conversation is kept.
    #[wasm_bindgen(js_name = setTitle)]
    pub fn set_title(&self, title: &str) {
        self.agent.set_title(title);
    }

    /// Sends the last prompt once more. Returns the word for why it is refused, if it is.
    pub fn retry(&self) -> Option<String> {
        error_code_of(self.agent.retry())
    }

    /// Stops what goes on. Returns the word for why it is refused, if it is.
    pub fn interrupt(&self) -> Option<String> {
        error_code_of(self.agent.interrupt())
    }

    /// Sets other rules, in JSON, and what happens to edits of work ahead. The mode is not set here, because it is
    /// asked for each time.
    #[wasm_bindgen(js_name = setRules)]
    pub fn set_rules(&self, rules: &str, ahead_writes: &str) -> Result<(), Failure> {
        let ahead_writes: AheadWrites = parse("aheadWrites", ahead_writes)?;
        let context = parse::<Rules>("", rules)?.for_engine(&self.own_tools)?;
        let mut known = self.host.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = std::mem::take(&mut known.tools);
        *known = GateContext { ahead_writes, tools, ..context };
        drop(known);
        // Something that was read ahead may be denied now.
        self.agent.drop_suggestion();
        self.agent.rules_changed();
        Ok(())
    }

    /// Reports that the mode may have changed.
    #[wasm_bindgen(js_name = modeChanged)]
    pub fn mode_changed(&self) {
        self.agent.rules_changed();
    }

    /// Sets how much is done ahead from now on: `off`, `auto` or `always`.
    #[wasm_bindgen(js_name = setBackground)]
    pub fn set_background(&self, background: &str) -> Result<(), Failure> {
        self.agent.set_background(parse::<Background>("background", background)?.into());
        Ok(())
    }

    /// Sets whether suggestions run ahead from now on.
    #[wasm_bindgen(js_name = setSpeculation)]
    pub fn set_speculation(&self, runs: bool) {
        self.agent.set_speculation(runs);
    }

    /// Sets how many suggestions are asked for from now on.
    #[wasm_bindgen(js_name = setCandidates)]
    pub fn set_candidates(&self, candidates: usize) {
        self.agent.set_candidates(candidates);
    }

    /// Reports that the callbacks ask another model from now on; `facts` is what is known of it, in JSON.
    #[wasm_bindgen(js_name = setModel)]
    pub fn set_model(&self, name: &str, facts: &str) -> Result<(), Failure> {
        let facts: ModelFacts = parse("facts", facts)?;
        self.beside.set_window(facts.window);
        self.agent.set_model(name, facts.tariff(name), facts.window());
        Ok(())
    }

    /// Asks for a suggestion now.
    pub fn suggest(&self) {
        self.agent.suggest();
    }

    /// Shows a suggestion that the host gives.
    pub fn offer(&self, text: &str) -> Result<(), Failure> {
        let suggestion = filter(text).map_err(|reason| Failure::input("opening", reason.to_string()))?;
        self.agent.offer(suggestion);
        Ok(())
    }

    /// Reports that files were changed.
    #[wasm_bindgen(js_name = filesChanged)]
    pub fn files_changed(&self) {
        self.agent.files_changed();
    }

    /// What may be mentioned, as JSON.
    pub fn mentionable(&self) -> Promise {
        let (beside, tree, gate) =
            (Arc::clone(&self.beside), Arc::clone(&self.tree), self.host.gate_context());
        promise(Box::pin(async move { Ok(beside.mentionable(&tree, &gate).await.into()) }))
    }

    /// The changes that this work made or would make, as the text of a change set.
    pub fn changes(&self, work: &str) -> Option<String> {
        self.agent.changes(work).map(|changes| json(&changes))
    }

    /// What the conversation has cost so far, as JSON.
    pub fn costs(&self) -> String {
        json(&self.ledger.costs())
    }

    /// Waits until nothing goes on.
    pub fn idle(&self) -> Promise {
        let agent = self.agent.clone();
        promise(Box::pin(async move {
            agent.idle().await;
            Ok(wasm_bindgen::JsValue::UNDEFINED)
        }))
    }

    /// Ends the conversation, and waits until nothing of it is left.
    pub fn close(&self) -> Promise {
        let agent = self.agent.clone();
        promise(Box::pin(async move {
            agent.close().await;
            Ok(wasm_bindgen::JsValue::UNDEFINED)
        }))
    }
}

fn error_code_of<T>(done: Result<T, ActionError>) -> Option<String> {
    done.err().map(|error| error_code(error).to_owned())
}

fn error_code(error: ActionError) -> &'static str {
    match error {
        ActionError::Ended => "ended",
        ActionError::TooEarly => "tooEarly",
        ActionError::Busy => "busy",
        ActionError::Empty => "empty",
        _ => "stale",
    }
}
