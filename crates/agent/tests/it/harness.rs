//! A world for tests: a model that does what the prompt says, a host whose clock stands still, and what a user does.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod project;
mod script;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use futures::channel::oneshot;
use futures::executor::LocalPool;
use futures::future::BoxFuture;
use futures::task::LocalSpawnExt;
use futures::{FutureExt, StreamExt, stream};
use headstart_agent::{
    AfterDecline, AgentHandle, AgentOptions, Item, ItemChange, LedgerStore, Matching, Phase, Ports, Runtime,
    Session, SessionStore, StoreError, Updates, View, agent,
};
use headstart_budget::ledger::{Entry, Source};
use headstart_budget::policy::{Habits, Mode, Policy, SkipReason, Tariff};
use headstart_budget::{EntryBuilder, Metering, PendingWrites};
use headstart_context::{ProjectRules, SessionEnvironment, Window, system_text};
use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, EventStream, FinishReason, Message, Model, ModelError, ModelEvent,
    ModelRequest, Money, Part, Prices, Role, ToolCall, Usage, check_pairing,
};
use headstart_overlay_fs::{MemoryTree, Tree, Workspace, WorkspacePath};
use headstart_speculation::{Attachments, Consent, Engine, Host, Limits, PromptOrigin};
use headstart_tool_gate::{AheadWrites, ApprovalMode, Declaration, Gate, GateContext, Verdict};
use headstart_toolbox::{Tool, Toolbox};
use serde_json::{Value, json};

pub(crate) use self::script::call;
use self::script::{never_enough, scripted_answer};

/// What a test may set before the conversation begins.
#[expect(clippy::struct_excessive_bools, reason = "each is one way in which a test differs")]
pub(crate) struct HarnessOptions {
    pub(crate) mode: ApprovalMode,
    pub(crate) ahead_writes: AheadWrites,
    pub(crate) background: Mode,
    /// The name of the model that does background work. The model of turns is called `m`.
    pub(crate) fast: &'static str,
    /// Whether that model runs on the user's machine.
    pub(crate) is_local: bool,
    pub(crate) attended: bool,
    pub(crate) after_decline: AfterDecline,
    pub(crate) candidates: usize,
    pub(crate) matching: Matching,
    pub(crate) store_fails: bool,
    /// How the stores of the ledger and of the session behave.
    pub(crate) ledger: StoreBehaviour,
    pub(crate) session: StoreBehaviour,
    /// Tools in addition to the built-in ones. All of them only read.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) workspace: &'static str,
    pub(crate) events: bool,
    pub(crate) window: Option<Window>,
    /// More files. If there are any, prompts come with the project's rules, and mentions are resolved.
    pub(crate) project: &'static [(&'static str, &'static str)],
    /// The kept lines of the conversation that goes on.
    pub(crate) kept: String,
}

/// How a store behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum StoreBehaviour {
    #[default]
    Works,
    NeverAnswers,
    Panics,
}

/// Behaves as the store is set to. If it does not answer, it looks again when it is woken.
async fn behave(behaviour: &Mutex<StoreBehaviour>, wakers: &Mutex<Vec<Waker>>) {
    futures::future::poll_fn(|context| match *lock(behaviour) {
        StoreBehaviour::Works => Poll::Ready(()),
        StoreBehaviour::Panics => panic!("the store panics"),
        StoreBehaviour::NeverAnswers => {
            lock(wakers).push(context.waker().clone());
            Poll::Pending
        }
    })
    .await;
}

impl Default for HarnessOptions {
    fn default() -> Self {
        Self {
            mode: ApprovalMode::AutoEdit,
            ahead_writes: AheadWrites::Ask,
            background: Mode::Always,
            attended: true,
            after_decline: AfterDecline::Continue,
            candidates: 1,
            matching: Matching::default(),
            store_fails: false,
            ledger: StoreBehaviour::Works,
            session: StoreBehaviour::Works,
            tools: Vec::new(),
            workspace: "/work",
            fast: "m",
            is_local: false,
            events: false,
            window: None,
            project: &[],
            kept: String::new(),
        }
    }
}

/// A conversation with everything around it.
pub(crate) struct Harness {
    pool: LocalPool,
    pub(crate) agent: AgentHandle,
    updates: Option<Updates>,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) host: Arc<ManualHost>,
    pub(crate) tree: Arc<MemoryTree>,
    pub(crate) store: Arc<MemoryStore>,
    /// The items as known to a reader who applied every change.
    pub(crate) known: BTreeMap<usize, Item>,
}

impl Harness {
    pub(crate) fn new(options: &HarnessOptions) -> Self {
        let files = [("notes.txt", "one\n"), ("other.txt", "other\n")];
        let files = files.iter().chain(options.project).copied();
        let tree = Arc::new(MemoryTree::from_files(files).unwrap());
        let model = Arc::new(ScriptedModel::default());
        let background = Arc::new(Background(Arc::clone(&model))) as Arc<dyn Model>;
        let asked = Arc::clone(&model) as Arc<dyn Model>;
        Self::over(options, tree, model, |_| (asked, background))
    }

    /// A conversation over these files. `models` makes the model of turns and the model of background work.
    pub(crate) fn over(
        options: &HarnessOptions,
        tree: Arc<MemoryTree>,
        model: Arc<ScriptedModel>,
        models: impl FnOnce(&Arc<ManualHost>) -> (Arc<dyn Model>, Arc<dyn Model>),
    ) -> Self {
        let host = Arc::new(ManualHost {
            rules: Mutex::new(GateContext {
                mode: options.mode,
                ahead_writes: options.ahead_writes,
                workspace: options.workspace.to_owned(),
                tools: options
                    .tools
                    .iter()
                    .map(|tool| Declaration::reads(&tool.schema().name, &[]))
                    .collect(),
                ..GateContext::default()
            }),
            tells_project: !options.project.is_empty(),
            ..ManualHost::default()
        });
        let (asked, background) = models(&host);
        let engine = Engine {
            background: BackgroundModel {
                is_local: options.is_local,
                ..BackgroundModel::main(background, options.fast)
            },
            toolbox: options.tools.iter().cloned().fold(Toolbox::standard(None), Toolbox::with),
            workspace: Arc::clone(&tree) as Arc<dyn Workspace>,
            gate: Arc::new(Gate::new()),
            host: Arc::clone(&host) as Arc<dyn Host>,
            limits: Limits { candidates: options.candidates, ..Limits::default() },
        };
        let entries = EntryBuilder::new(Source::Chat, Tariff::new("m", Prices::default()));
        let entries = entries.with_background(options.fast);
        let limit = Money::new(1_000.0).unwrap();
        let policy = Policy { mode: options.background, limit, ..Policy::default() };
        let kept = Mutex::new(options.kept.clone());
        let store = Arc::new(MemoryStore {
            kept,
            fails: AtomicBool::new(options.store_fails),
            ledger: Mutex::new(options.ledger),
            session: Mutex::new(options.session),
            ..MemoryStore::default()
        });
        let options = AgentOptions {
            system: if host.tells_project {
                let tree = Arc::clone(&tree) as Arc<dyn Tree>;
                let read = ProjectRules::read(&tree, &host.gate_context()).now_or_never().unwrap();
                system_text(&[], Some(&read), &SessionEnvironment::default())
            } else {
                "Do as you are told.".to_owned()
            },
            model: "m".to_owned(),
            restore: (!options.kept.is_empty()).then(|| Session::read(options.kept.as_bytes()).unwrap()),
            window: options.window,
            metering: Metering::new(entries, policy, Habits::default(), &[]),
            suggestions: true,
            speculation: true,
            candidates: options.candidates,
            matching: options.matching,
            titles: true,
            attended: options.attended,
            after_decline: options.after_decline,
            events: options.events,
            id: "chat".to_owned(),
        };
        let ports = Ports {
            engine,
            model: asked,
            runtime: Arc::new(InlineRuntime { panics: Arc::clone(&host.panics) }),
            ledger: Arc::clone(&store) as Arc<dyn LedgerStore>,
            session: Some(Arc::clone(&store) as Arc<dyn SessionStore>),
        };
        let (agent, driver, updates) = agent(options, ports);
        let pool = LocalPool::new();
        pool.spawner().spawn_local(driver.run()).unwrap();
        Self { pool, agent, updates: Some(updates), model, host, tree, store, known: BTreeMap::new() }
    }

    /// Lets everything happen that can happen now, and applies the updates.
    pub(crate) fn settle(&mut self) -> Arc<View> {
        self.pool.run_until_stalled();
        while let Some(Some(Some(update))) =
            self.updates.as_mut().map(|updates| updates.next().now_or_never())
        {
            for change in update.items {
                match change {
                    ItemChange::Cleared => self.known.clear(),
                    ItemChange::Added { key, item } | ItemChange::Changed { key, item } => {
                        self.known.insert(key, (*item).clone());
                    }
                    ItemChange::Appended { key, text } => match self.known.get_mut(&key) {
                        Some(Item::Answer { text: known }) => known.push_str(&text),
                        other => panic!("more words for {other:?}"),
                    },
                    _ => {}
                }
            }
            if let Some(question) = &update.view.question {
                assert!(!matches!(update.view.phase, Phase::Idle | Phase::Opening), "{question:?}");
            }
        }
        self.agent.view()
    }

    /// From now on nobody reads the updates.
    pub(crate) fn drop_updates(&mut self) {
        self.updates = None;
    }

    /// Whether this future is done after everything has happened that can happen now.
    pub(crate) fn is_done<F: Future + Unpin>(&mut self, future: &mut F) -> bool {
        self.settle();
        self.pool.run_until(async { future.now_or_never() }).is_some()
    }

    /// Lets this much time pass.
    pub(crate) fn advance(&mut self, ms: u64) -> Arc<View> {
        for _ in 0..ms / 50 {
            self.settle();
            self.host.advance(50);
        }
        self.host.advance(ms % 50);
        self.settle()
    }

    /// Sends a prompt and lets everything happen that can happen now.
    pub(crate) fn say(&mut self, prompt: &str) -> Arc<View> {
        self.agent.submit(prompt).unwrap();
        self.settle()
    }

    /// A conversation that shows this suggestion, for which work has run ahead as far as it could.
    pub(crate) fn with_suggestion(options: &HarnessOptions, suggestion: &str) -> Self {
        let mut harness = Self::new(options);
        harness.model.suggest(suggestion);
        for prompt in ["talk", "talk more"] {
            harness.say(prompt);
        }
        let view = harness.advance(1_000);
        let shown = view.suggestion.as_ref().map(|shown| shown.text.as_str());
        assert_eq!(shown, suggestion.split('|').next(), "{view:?}");
        harness
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        let path = WorkspacePath::parse(name).unwrap();
        let bytes = self.tree.read(&path).now_or_never().unwrap().ok()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    /// Writes a file as its user would.
    pub(crate) fn write(&self, name: &str, text: &str) {
        self.tree.write(&WorkspacePath::parse(name).unwrap(), text);
    }

    /// The user's messages in the last request of a turn, which are those that the model knows.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let requests = lock(&self.model.turns);
        let last = requests.last().map(|request| request.messages.clone()).unwrap_or_default();
        last.iter().filter(|message| message.role == Role::User).map(text_of).collect()
    }

    /// The lines of the ledger that have this type, as JSON.
    pub(crate) fn lines(&self, kind: &str) -> Vec<Value> {
        let entries = lock(&self.store.entries);
        let lines = entries.iter().map(|entry| serde_json::from_str::<Value>(&entry.to_line()).unwrap());
        lines.filter(|line| line["type"] == kind).collect()
    }

    pub(crate) fn outcomes(&self) -> Vec<String> {
        self.lines("outcome").iter().map(|line| line["outcome"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn close(mut self) -> Self {
        let agent = self.agent.clone();
        let mut closed = Box::pin(async move { agent.close().await });
        for _ in 0..20 {
            if self.is_done(&mut closed) {
                return self;
            }
        }
        panic!("the conversation does not end: {:?}", self.agent.view());
    }
}

/// A model that does what the prompt says: `talk`, `read`, `edit FILE`, `run`, `fail`, `panic`, `cut`, with more text.
#[derive(Default)]
pub(crate) struct ScriptedModel {
    /// The requests of turns, in order.
    pub(crate) turns: Mutex<Vec<ModelRequest>>,
    /// The requests of work ahead.
    pub(crate) ahead: Mutex<Vec<ModelRequest>>,
    /// The requests for a suggestion.
    pub(crate) questions: Mutex<Vec<ModelRequest>>,
    /// How many suggestions were asked for.
    pub(crate) asked: AtomicU64,
    suggestions: Mutex<VecDeque<String>>,
    /// Answers wait until they are released.
    pub(crate) holds: AtomicBool,
    held: Mutex<VecDeque<oneshot::Sender<()>>>,
    /// If it is not 0, the model counts the tokens that it reads and refuses requests that have more than this.
    pub(crate) sees: AtomicU64,
    /// What it answers when it is asked for a summary, in place of words.
    pub(crate) summary: Mutex<Option<Vec<ModelEvent>>>,
    /// How many more files the model reads before it answers `loop FILE`.
    pub(crate) left: AtomicU64,
}

impl ScriptedModel {
    /// Sets the answer to the next question for a suggestion. Several suggestions are separated by `|`.
    pub(crate) fn suggest(&self, text: &str) {
        lock(&self.suggestions).push_back(text.to_owned());
    }

    /// Lets an answer that waits begin: the oldest one, or the newest one.
    pub(crate) fn release(&self, newest: bool) {
        let mut held = lock(&self.held);
        let next = if newest { held.pop_back() } else { held.pop_front() };
        let _ = next.map(|held| held.send(()));
    }

    pub(crate) fn hold(&self, holds: bool) {
        self.holds.store(holds, Ordering::SeqCst);
        if !holds {
            lock(&self.held).drain(..).for_each(drop);
        }
    }

    fn answer(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let waits = self.holds.load(Ordering::SeqCst).then(|| {
            let (release, released) = oneshot::channel();
            lock(&self.held).push_back(release);
            released
        });
        let events = if request.response_schema.is_some() {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let next = lock(&self.suggestions).pop_front().unwrap_or_default();
            let listed = || json!({ "guesses": next.split('|').collect::<Vec<_>>() }).to_string();
            let answer = if next.starts_with('{') { next.clone() } else { listed() };
            vec![ModelEvent::Text(answer)]
        } else {
            let wants_more = |left: u64| left.checked_sub(1);
            let summary = lock(&self.summary).clone().filter(|_| !request.thinking);
            let answer = match (summary, never_enough(request, lock(&self.turns).len())) {
                (Some(summary), _) => summary,
                (None, Some(call)) => vec![call],
                (None, None) => scripted_answer(request)?,
            };
            match answer {
                said if said.iter().any(|event| matches!(event, ModelEvent::ToolCall(_))) => said,
                said => match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, wants_more) {
                    // The calls differ in length, because a call that is always the same is stopped.
                    Ok(left) => {
                        vec![call("read_file", &json!({ "file_path": "big.txt", "limit": 200 + left }))]
                    }
                    Err(_) => said,
                },
            }
        };
        let sees = self.sees.load(Ordering::SeqCst);
        let tokens = serde_json::to_string(request).unwrap().len() as u64 / 4;
        if 0 < sees && sees < tokens {
            let message = format!("prompt is too long: {tokens} tokens > {sees} maximum");
            return Err(ModelError::WindowExceeded { provider: "a test".to_owned(), status: 400, message });
        }
        let input_tokens = if 0 < sees { tokens } else { 100 };
        let usage = Usage { input_tokens, cached_input_tokens: 80, output_tokens: 10, ..Usage::default() };
        let end = [ModelEvent::Usage(usage), ModelEvent::Finished(FinishReason::Stop)];
        let events = stream::iter(events.into_iter().chain(end).map(Ok));
        let waits = async move {
            if let Some(waits) = waits {
                // An answer whose sender was dropped is released as well.
                let _ = waits.await;
            }
            events
        };
        Ok(Box::pin(waits.flatten_stream()))
    }
}

#[async_trait]
impl Model for ScriptedModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        check_pairing(&request.messages).expect("a legal history");
        lock(&self.turns).push(request.clone());
        self.answer(request)
    }
}

/// The same model, for background work.
struct Background(Arc<ScriptedModel>);

#[async_trait]
impl Model for Background {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        check_pairing(&request.messages).expect("a legal history");
        if request.response_schema.is_none() {
            lock(&self.0.ahead).push(request.clone());
        } else {
            lock(&self.0.questions).push(request.clone());
        }
        self.0.answer(request)
    }
}

/// A host with rules and with a clock that only a test moves.
#[derive(Default)]
pub(crate) struct ManualHost {
    pub(crate) rules: Mutex<GateContext>,
    /// Whether prompts come with the project's rules and with what they mention.
    tells_project: bool,
    ms: AtomicU64,
    sleepers: Mutex<Vec<(u64, oneshot::Sender<()>)>>,
    /// The name of the method, of the host or of the runtime, that panics.
    pub(crate) panics: Arc<Mutex<&'static str>>,
}

impl ManualHost {
    fn advance(&self, ms: u64) {
        let now = self.ms.fetch_add(ms, Ordering::SeqCst) + ms;
        // A dropped sender wakes the sleeper.
        lock(&self.sleepers).retain(|(until, _)| now < *until);
    }
}

#[async_trait]
impl Host for ManualHost {
    fn now(&self) -> Duration {
        may_panic(&self.panics, "now");
        Duration::from_millis(self.ms.load(Ordering::SeqCst))
    }

    async fn sleep(&self, time: Duration) {
        may_panic(&self.panics, "sleep");
        let until = self.ms.load(Ordering::SeqCst) + u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 2);
        let (wake, woken) = oneshot::channel();
        lock(&self.sleepers).push((until, wake));
        let _ = woken.await;
    }

    fn gate_context(&self) -> GateContext {
        may_panic(&self.panics, "gate_context");
        lock(&self.rules).clone()
    }

    async fn prompt_attachments(
        &self,
        prompt: &str,
        _whose: PromptOrigin,
        conversation: &CacheSafeParams,
        tree: &Arc<dyn Tree>,
    ) -> Result<Attachments, String> {
        may_panic(&self.panics, "prompt_attachments");
        if prompt.contains("@none") {
            return Err("@none: there is no such file".to_owned());
        }
        if !self.tells_project {
            return Ok(Attachments::default());
        }
        project::attachments_for(prompt, conversation, tree, &self.gate_context()).await
    }

    async fn consent(&self, _call: &ToolCall, _verdict: &Verdict) -> Consent {
        panic!("a question is for the user of the conversation");
    }
}

/// A runtime that takes no tasks, so that the driver does all of the work.
struct InlineRuntime {
    panics: Arc<Mutex<&'static str>>,
}

impl Runtime for InlineRuntime {
    fn unix_ms(&self) -> u64 {
        may_panic(&self.panics, "unix_ms");
        1_700_000_000_000
    }

    fn machine(&self) -> Option<SkipReason> {
        may_panic(&self.panics, "machine");
        None
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) -> Option<BoxFuture<'static, ()>> {
        may_panic(&self.panics, "spawn");
        Some(work)
    }
}

fn may_panic(which: &Mutex<&'static str>, this: &str) {
    let panics = *lock(which) == this;
    assert!(!panics, "{this} panics");
}

/// A ledger and a session in memory.
#[derive(Default)]
pub(crate) struct MemoryStore {
    pub(crate) entries: Mutex<Vec<Entry>>,
    /// The lines of the session.
    pub(crate) kept: Mutex<String>,
    fails: AtomicBool,
    ledger: Mutex<StoreBehaviour>,
    pub(crate) session: Mutex<StoreBehaviour>,
    wakers: Mutex<Vec<Waker>>,
}

impl MemoryStore {
    /// The stores answer from now on.
    pub(crate) fn answer(&self) {
        (*lock(&self.ledger), *lock(&self.session)) = (StoreBehaviour::Works, StoreBehaviour::Works);
        lock(&self.wakers).drain(..).for_each(Waker::wake);
    }
}

#[async_trait]
impl LedgerStore for MemoryStore {
    async fn append(&self, pending_writes: PendingWrites) -> Result<Option<Habits>, StoreError> {
        behave(&self.ledger, &self.wakers).await;
        if self.fails.load(Ordering::SeqCst) {
            return Err("the disk is full".into());
        }
        // A store does not answer at once.
        let mut first = true;
        futures::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        lock(&self.entries).extend(pending_writes.entries);
        Ok(None)
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn append(&self, lines: String) -> Result<(), StoreError> {
        behave(&self.session, &self.wakers).await;
        if self.fails.load(Ordering::SeqCst) {
            return Err("the disk is full, too".into());
        }
        lock(&self.kept).push_str(&lines);
        Ok(())
    }
}

pub(crate) fn text_of(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
