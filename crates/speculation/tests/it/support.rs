//! A scripted model, a host whose clock only advances when it is read, and an engine over both.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use futures::executor::LocalPool;
use futures::stream;
use futures::task::LocalSpawnExt;
use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, EventStream, FinishReason, Message, Model, ModelError, ModelEvent,
    ModelRequest, Role, ToolCall, Usage,
};
use headstart_overlay_fs::{MemoryTree, Workspace, WorkspacePath};
use headstart_speculation::{
    Acceptance, Accepted, AtBoundary, CallPreview, Checker, Consent, Engine, Events, Finished, Freshness,
    Host, Limits, Speculation,
};
use headstart_tool_gate::{ApprovalMode, Gate, GateContext, Verdict, no_repository};
use headstart_toolbox::{CommandOutput, CommandRequest, CommandRunner, PartialOutput, ToolError, Toolbox};
use serde_json::{Value, json};

/// One answer of the scripted model.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Events(Vec<ModelEvent>),
    Fails(ModelError),
    /// Never answers. The flag is set when the request is dropped.
    Hangs(Arc<AtomicBool>),
    /// Ends without `Finished`.
    Cut,
}

/// Plays its answers in order and keeps the requests that it gets.
#[derive(Default)]
pub(crate) struct ScriptedModel {
    answers: Mutex<VecDeque<Reply>>,
    pub(crate) suggestions: Mutex<VecDeque<String>>,
    pub(crate) requests: Mutex<Vec<ModelRequest>>,
}

impl ScriptedModel {
    pub(crate) fn new(answers: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), ..Self::default() })
    }

    pub(crate) fn suggest(&self, text: &str) {
        self.suggestions.lock().unwrap().push_back(text.to_owned());
    }
}

struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl Model for ScriptedModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        self.requests.lock().unwrap().push(request.clone());
        if request.response_schema.is_some() {
            let text = self.suggestions.lock().unwrap().pop_front().unwrap_or_default();
            let answer = json!({ "suggestion": text }).to_string();
            return Ok(Box::pin(stream::iter([
                Ok(ModelEvent::Text(answer)),
                Ok(ModelEvent::Finished(FinishReason::Stop)),
            ])));
        }
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Reply::Cut);
        match answer {
            Reply::Events(events) => Ok(Box::pin(stream::iter(events.into_iter().map(Ok)))),
            Reply::Fails(error) => Err(error),
            Reply::Hangs(flag) => {
                let guard = SetOnDrop(flag);
                Ok(Box::pin(stream::poll_fn(move |_| {
                    let _held = &guard;
                    Poll::Pending
                })))
            }
            Reply::Cut => Ok(Box::pin(stream::iter([Ok(ModelEvent::Text("half an".into()))]))),
        }
    }
}

pub(crate) fn call(name: &str, args: &Value) -> ModelEvent {
    let args = args.as_object().cloned().unwrap_or_default();
    ModelEvent::ToolCall(ToolCall { id: String::new(), name: name.into(), args })
}

pub(crate) fn says(text: &str) -> Reply {
    Reply::Events(vec![
        ModelEvent::Text(text.into()),
        ModelEvent::Usage(Usage {
            input_tokens: 100,
            cached_input_tokens: 80,
            output_tokens: 10,
            ..Usage::default()
        }),
        ModelEvent::Finished(FinishReason::Stop),
    ])
}

pub(crate) fn calls(calls: impl IntoIterator<Item = ModelEvent>) -> Reply {
    let mut events: Vec<_> = calls.into_iter().collect();
    events.push(ModelEvent::Usage(Usage {
        input_tokens: 100,
        cached_input_tokens: 80,
        output_tokens: 10,
        ..Usage::default()
    }));
    events.push(ModelEvent::Finished(FinishReason::Stop));
    Reply::Events(events)
}

/// A host with rules that a test can change, a clock that the test sets, and consents that it gives.
pub(crate) struct TestHost {
    pub(crate) rules: Mutex<GateContext>,
    pub(crate) clock_ms: AtomicU64,
    /// From now on `sleep` resolves, as if a run had taken too long.
    pub(crate) time_is_up: AtomicBool,
    pub(crate) consents: Mutex<VecDeque<Consent>>,
    pub(crate) asked: Mutex<Vec<ToolCall>>,
    pub(crate) at_boundary: Mutex<AtBoundary>,
    /// A time, and the paths that changed since then.
    pub(crate) changed_since: Mutex<(u64, Vec<WorkspacePath>)>,
    pub(crate) freshness: Mutex<Freshness>,
    pub(crate) check: Mutex<Option<Checker>>,
    pub(crate) reports_call_states: AtomicBool,
    pub(crate) confines_nothing: AtomicBool,
    /// How long the user thinks about each question.
    pub(crate) asking_takes_ms: AtomicU64,
    /// What was known of the calls that the host was asked about.
    pub(crate) prepared: Mutex<Vec<CallPreview>>,
    /// What somebody saves while the user thinks: one file for each question.
    pub(crate) saves: Mutex<VecDeque<(Arc<MemoryTree>, &'static str, &'static str)>>,
}

impl TestHost {
    pub(crate) fn new(mode: ApprovalMode) -> Arc<Self> {
        Arc::new(Self {
            rules: Mutex::new(rules(mode)),
            clock_ms: AtomicU64::new(0),
            time_is_up: AtomicBool::new(false),
            consents: Mutex::default(),
            asked: Mutex::default(),
            at_boundary: Mutex::default(),
            changed_since: Mutex::default(),
            freshness: Mutex::default(),
            check: Mutex::default(),
            reports_call_states: AtomicBool::new(false),
            confines_nothing: AtomicBool::new(false),
            asking_takes_ms: AtomicU64::new(0),
            prepared: Mutex::default(),
            saves: Mutex::default(),
        })
    }

    pub(crate) fn set_mode(&self, mode: ApprovalMode) {
        *self.rules.lock().unwrap() = rules(mode);
    }
}

pub(crate) fn rules(mode: ApprovalMode) -> GateContext {
    GateContext { mode, workspace: "/workspace".into(), ..GateContext::default() }
}

#[async_trait]
impl Host for TestHost {
    fn now(&self) -> Duration {
        // Every reading of the clock takes a millisecond, so that times are never zero and always the same.
        Duration::from_millis(self.clock_ms.fetch_add(1, Ordering::SeqCst))
    }

    async fn sleep(&self, time: Duration) {
        // A day is never over. The task is not woken here, because a test that lets the time run out also polls the
        // work again.
        std::future::poll_fn(|_| {
            let is_up = self.time_is_up.load(Ordering::SeqCst) && time < Duration::from_secs(86_400);
            if is_up { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    fn gate_context(&self) -> GateContext {
        self.rules.lock().unwrap().clone()
    }

    fn at_boundary(&self) -> AtBoundary {
        *self.at_boundary.lock().unwrap()
    }

    async fn changed_since(&self, unix_ms: u64) -> Vec<WorkspacePath> {
        let (moment, paths) = &*self.changed_since.lock().unwrap();
        if unix_ms == *moment { paths.clone() } else { Vec::new() }
    }

    fn check(&self, _changed: &[WorkspacePath]) -> Option<Checker> {
        self.check.lock().unwrap().clone()
    }

    fn freshness(&self) -> Freshness {
        *self.freshness.lock().unwrap()
    }

    fn confines_commands(&self) -> bool {
        !self.confines_nothing.load(Ordering::SeqCst)
    }

    fn reports_call_states(&self) -> bool {
        self.reports_call_states.load(Ordering::SeqCst)
    }

    async fn consent_to(&self, call: &ToolCall, verdict: &Verdict, prepared: CallPreview) -> Consent {
        self.prepared.lock().unwrap().push(prepared);
        self.consent(call, verdict).await
    }

    async fn consent(&self, call: &ToolCall, _verdict: &Verdict) -> Consent {
        self.asked.lock().unwrap().push(call.clone());
        if let Some((tree, name, content)) = self.saves.lock().unwrap().pop_front() {
            tree.write(&path(name), content);
        }
        self.clock_ms.fetch_add(self.asking_takes_ms.load(Ordering::SeqCst), Ordering::SeqCst);
        self.consents.lock().unwrap().pop_front().unwrap_or(Consent::Stop)
    }
}

/// A shell that only repeats what it was asked to run.
pub(crate) struct EchoRunner;

#[async_trait]
impl CommandRunner for EchoRunner {
    async fn run_streaming(
        &self,
        request: CommandRequest,
        output_sink: &dyn PartialOutput,
    ) -> Result<CommandOutput, ToolError> {
        output_sink.on_output("ran");
        self.run(request).await
    }

    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError> {
        Ok(CommandOutput {
            output: format!("ran {}\n", request.command.prove_by(no_repository).unwrap().line),
            exit_code: Some(0),
            timed_out: false,
            truncated: false,
        })
    }
}

/// An engine over a small tree in memory.
pub(crate) struct Fixture {
    pub(crate) engine: Engine,
    pub(crate) tree: Arc<MemoryTree>,
    pub(crate) host: Arc<TestHost>,
    pub(crate) model: Arc<ScriptedModel>,
}

impl Fixture {
    pub(crate) fn new(mode: ApprovalMode, answers: impl IntoIterator<Item = Reply>) -> Self {
        let tree = Arc::new(
            MemoryTree::from_files([
                ("README.md", "# sample\n"),
                ("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n"),
            ])
            .unwrap(),
        );
        Self::over(Arc::clone(&tree) as Arc<dyn Workspace>, tree, mode, answers)
    }

    pub(crate) fn over(
        workspace: Arc<dyn Workspace>,
        tree: Arc<MemoryTree>,
        mode: ApprovalMode,
        answers: impl IntoIterator<Item = Reply>,
    ) -> Self {
        let host = TestHost::new(mode);
        let model = ScriptedModel::new(answers);
        let engine = Engine {
            background: BackgroundModel::main(Arc::clone(&model) as Arc<dyn Model>, "test"),
            toolbox: Toolbox::standard(Some(Arc::new(EchoRunner))),
            workspace,
            gate: Arc::new(Gate::new()),
            host: Arc::clone(&host) as Arc<dyn Host>,
            limits: Limits::default(),
        };
        Self { engine, tree, host, model }
    }

    pub(crate) fn history() -> Vec<Message> {
        vec![Message::text(Role::User, "hello"), Message::text(Role::Model, "Hello. What shall I do?")]
    }

    pub(crate) fn params(&self) -> CacheSafeParams {
        self.params_of(&Self::history())
    }

    pub(crate) fn params_of(&self, history: &[Message]) -> CacheSafeParams {
        CacheSafeParams::new(Some("Be brief.".into()), self.engine.toolbox.schemas(), history, "test")
    }

    pub(crate) fn request(&self) -> ModelRequest {
        ModelRequest {
            model: "test".into(),
            system: Some("Be brief.".into()),
            tools: self.engine.toolbox.schemas(),
            messages: Self::history(),
            thinking: false,
            response_schema: None,
            max_output_tokens: None,
        }
    }

    pub(crate) fn start(&self, prompt: &str) -> (Speculation, headstart_speculation::Driver, Events) {
        self.engine.start("s1", &self.params(), prompt).unwrap()
    }

    /// Runs a speculation to its end.
    pub(crate) fn speculate(&self, prompt: &str) -> (Speculation, Arc<Finished>) {
        let (speculation, driver, _events) = self.start(prompt);
        let finished = futures::executor::block_on(async {
            driver.await;
            speculation.finished().await
        });
        (speculation, finished)
    }
}

/// Spawns a driver on a pool, on which it can be polled step by step.
pub(crate) fn spawn(pool: &LocalPool, driver: headstart_speculation::Driver) {
    pool.spawner().spawn_local(driver).unwrap();
}

pub(crate) fn path(text: &str) -> WorkspacePath {
    WorkspacePath::parse(text).unwrap()
}

pub(crate) fn edit() -> ModelEvent {
    call("edit", &json!({ "file_path": "src/lib.rs", "old_string": "    1\n", "new_string": "    2\n" }))
}

pub(crate) fn write(name: &str, content: &str) -> ModelEvent {
    call("write_file", &json!({ "file_path": name, "content": content }))
}

pub(crate) fn read(name: &str) -> ModelEvent {
    call("read_file", &json!({ "file_path": name }))
}

pub(crate) fn shell(command: &str) -> ModelEvent {
    call("shell", &json!({ "command": command }))
}

pub(crate) fn accepted(acceptance: Acceptance) -> Accepted {
    match acceptance {
        Acceptance::Accepted(accepted) => accepted,
        other => panic!("not accepted: {other:?}"),
    }
}
