//! A user at work with an agent that runs ahead, as the chat does: engine, controller and policy are the real ones.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use headstart_budget::ledger::{Decision, Entry, Outcome, Speculated, Suggested, Work};
use headstart_budget::policy::{Allowance, Cap, Experience, Habits, Mode, Policy, Tariff};
use headstart_followup_state::{
    AcceptMethod, Config, Effect, Event as Followup, FollowupController, RequestId, Suggestion, Suggestions,
};
use headstart_forked_query::Prices;
use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Guards, Message, Model, ModelRequest, ToolCall, Usage,
    generate_suggestion,
};
use headstart_overlay_fs::MemoryTree;
use headstart_speculation::{
    Acceptance, Consent, Cost, Ending, Engine, Host, Limits, Speculation, Status, Step, StepAbove, Transcript,
};
use headstart_tool_gate::{ApprovalMode, Gate, GateContext, Verdict};
use headstart_toolbox::{Limits as ToolLimits, Toolbox};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::inputs::{FILES, SESSIONS_OF_A_DAY, TURNS_OF_A_SESSION, TYPING_SECONDS};
use crate::model::{SimulatedModel, SimulatedShell};
use crate::script::Script;

/// How much is done ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Nothing: the user types every prompt and waits for every turn.
    Without,
    /// Suggestions run ahead; work that is not finished when the user takes it is thrown away and done anew.
    Finished,
    /// Work that is not finished goes on as the user's turn.
    Joining,
    /// The same, and the suggestion after work that nobody has taken yet runs ahead, too.
    TwoSteps,
}

/// One cell of the report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) way: Way,
    pub(crate) mode: Mode,
    pub(crate) hit_rate: f64,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    /// What the user waited for each turn, in seconds.
    pub(crate) waits: Vec<f64>,
    pub(crate) suggested: usize,
    pub(crate) ran: usize,
    pub(crate) taken: usize,
    pub(crate) joined: usize,
    /// What the provider charges for the user's own turns, those that ran ahead and were taken included.
    pub(crate) own: Usage,
    /// What it charges for nothing: suggestions, and work that was not taken.
    pub(crate) wasted: Usage,
}

/// What the policy goes by, for the engine's program and the user's.
struct Books {
    policy: Policy,
    experience: Mutex<Experience>,
    started: Instant,
}

impl Books {
    fn experience(&self) -> MutexGuard<'_, Experience> {
        self.experience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, text: &str) -> Option<Allowance> {
        self.policy.run(&self.experience(), text, self.unix_ms()).ok()
    }

    fn unix_ms(&self) -> u64 {
        1_790_000_000_000 + u64::try_from(self.started.elapsed().as_millis()).unwrap_or_default()
    }
}

/// The engine's program: a clock that is the runtime's, and a user who agrees at once.
struct Program(Arc<Books>);

#[async_trait]
impl Host for Program {
    fn now(&self) -> Duration {
        self.0.started.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn gate_context(&self) -> GateContext {
        GateContext { mode: ApprovalMode::AutoEdit, workspace: "/project".into(), ..GateContext::default() }
    }

    async fn step_above(&self, step: &Step) -> Option<StepAbove> {
        let policy = &self.0.policy;
        let allowance = policy.run_above(&self.0.experience(), 1, &step.prompt, self.0.unix_ms()).ok()?;
        Some(StepAbove { id: format!("{}+", step.below), limits: allowance.under(step.limits) })
    }

    async fn consent(&self, _call: &ToolCall, _verdict: &Verdict) -> Consent {
        Consent::Run
    }
}

/// Work ahead.
struct Ahead {
    id: String,
    speculation: Speculation,
    noted: bool,
    /// Does it, and the steps above.
    driver: JoinSet<()>,
}

/// How a turn begins.
enum Begin {
    Typed,
    Taken(Option<Ahead>),
}

struct World<'a> {
    script: &'a Script,
    setting: Setting,
    books: Arc<Books>,
    own: Arc<SimulatedModel>,
    background: Arc<SimulatedModel>,
    engine: Engine,
    history: Vec<Message>,
    controller: FollowupController,
    wake_at: Option<u64>,
    request: u64,
    offer: Option<(String, bool)>,
    ahead: Option<Ahead>,
    /// The step above the work that was taken last: it becomes the next work ahead.
    above: Option<(Speculation, JoinSet<()>)>,
    entries: Vec<Entry>,
    taken: Usage,
    tally: Tally,
}

/// A query for a suggestion under way: dropped, it is cancelled.
type Query = JoinSet<Answer>;

struct Answer {
    request: RequestId,
    suggestions: Option<Suggestions>,
    usage: Usage,
    /// The suggestion runs already.
    above: Option<(Speculation, JoinSet<()>)>,
}

/// Lives through all turns of the script.
pub(crate) fn live(script: &Arc<Script>, setting: Setting) -> Tally {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("works because a runtime without IO needs nothing from the system");
    runtime.block_on(async {
        let mut world = World::new(script, setting);
        for first in (0..script.turns.len()).step_by(TURNS_OF_A_SESSION) {
            if first != 0 && first.is_multiple_of(SESSIONS_OF_A_DAY * TURNS_OF_A_SESSION) {
                world.until_tomorrow().await;
            }
            world.session(first).await;
        }
        world.finish()
    })
}

fn tariff() -> Tariff {
    Tariff::new("simulated", Prices::default())
}

impl<'a> World<'a> {
    fn new(script: &'a Arc<Script>, setting: Setting) -> Self {
        let own = SimulatedModel::new(Arc::clone(script), setting.hit_rate);
        let background = SimulatedModel::new(Arc::clone(script), setting.hit_rate);
        let endless = Cap { tokens: u64::MAX, money: None, time: Duration::MAX };
        let policy = match setting.mode {
            Mode::Always => Policy {
                mode: Mode::Always,
                turn: endless,
                session: endless,
                day: endless,
                ..Policy::default()
            },
            mode => Policy { mode, ..Policy::default() },
        };
        let experience = Mutex::new(Experience::of(tariff(), Habits::default(), &[]));
        let books = Arc::new(Books { policy, experience, started: Instant::now() });
        let limits = Limits {
            depth: if setting.way == Way::TwoSteps { 2 } else { 1 },
            tools: ToolLimits { command_time: Duration::from_secs(900), ..ToolLimits::default() },
            ..Limits::default()
        };
        let engine = Engine {
            background: BackgroundModel::main(Arc::clone(&background) as Arc<dyn Model>, "simulated"),
            toolbox: Toolbox::standard(Some(Arc::new(SimulatedShell))),
            workspace: Arc::new(MemoryTree::new()),
            gate: Arc::new(Gate::new()),
            host: Arc::new(Program(Arc::clone(&books))),
            limits,
        };
        Self {
            script,
            setting,
            books,
            own,
            background,
            engine,
            history: Vec::new(),
            controller: FollowupController::new(Config::default()),
            wake_at: None,
            request: 0,
            offer: None,
            ahead: None,
            above: None,
            entries: Vec::new(),
            taken: Usage::default(),
            tally: Tally::default(),
        }
    }

    /// The user sleeps.
    async fn until_tomorrow(&self) {
        const DAY_MS: u64 = 86_400_000;
        let left = DAY_MS - self.books.unix_ms() % DAY_MS;
        tokio::time::sleep(Duration::from_millis(left)).await;
    }

    /// A new conversation in a new tree, with what was learned before.
    async fn session(&mut self, first: usize) {
        let files: Vec<_> = (0..FILES).map(|number| format!("src/file-{number}.rs")).collect();
        let files = files.iter().map(|name| (name.as_str(), "fn old() {}\n"));
        let tree = MemoryTree::from_files(files).expect("works because the names are plain");
        self.engine.workspace = Arc::new(tree);
        self.history.clear();
        let habits = *self.books.experience().habits();
        *self.books.experience() = Experience::of(tariff(), habits, &self.entries);
        let mut next = None;
        for turn in first..first + TURNS_OF_A_SESSION {
            let begin = if turn == first { Begin::Typed } else { self.between(turn, next).await };
            let started = Instant::now();
            next = match begin {
                Begin::Taken(Some(ahead)) => self.take(turn, ahead).await,
                Begin::Typed | Begin::Taken(None) => {
                    self.foreground(Transcript::new(&Script::prompt(turn, true))).await;
                    None
                }
            };
            self.tally.waits.push(started.elapsed().as_secs_f64());
        }
        self.drop_suggestion(Outcome::Aborted);
    }

    /// From the end of one turn to the beginning of the next.
    async fn between(&mut self, turn: usize, next: Option<Ahead>) -> Begin {
        let now = Instant::now();
        let found = &self.script.turns[turn];
        let is_hit = found.luck < self.setting.hit_rate;
        let typing = found.thinking.saturating_sub(Duration::from_secs_f64(TYPING_SECONDS));
        let (sends, types) = (now + found.thinking, now + typing.max(found.reading));
        let mut looks = vec![types];
        if is_hit {
            looks.insert(0, now + found.reading);
        }
        let mut query = self.ask(next);
        for at in looks {
            self.until(at, &mut query).await;
            if is_hit && self.controller.visible().is_some() {
                self.controller_says(Followup::accept(AcceptMethod::Tab));
                let offer = self.offer.take();
                let ahead = self.ahead.take();
                if ahead.is_none()
                    && let Some((id, _)) = offer
                {
                    self.decide(id, Outcome::Accepted, 0);
                }
                return Begin::Taken(ahead);
            }
        }
        drop(query);
        self.controller_says(Followup::Keystroke { typed: true });
        self.drop_suggestion(Outcome::Replaced);
        sleep_until(sends).await;
        Begin::Typed
    }

    /// Asks for a suggestion, or waits for the one that accepted work asks for by itself.
    fn ask(&mut self, taken: Option<Ahead>) -> Query {
        let mut query = JoinSet::new();
        self.request += 1;
        let request = RequestId(self.request);
        if self.setting.way == Way::Without {
            return query;
        }
        self.controller_says(Followup::Requested { request });
        if let Some(Ahead { speculation, driver, .. }) = taken {
            let before = of_work(&speculation).tokens;
            let two = self.setting.way == Way::TwoSteps;
            query.spawn(async move {
                let suggestions = speculation.next().await;
                let above = if two { speculation.above().await } else { None };
                let usage = speculation.cost().tokens.since(before);
                Answer { request, suggestions, usage, above: above.map(|above| (above, driver)) }
            });
            return query;
        }
        let answer = self.books.policy.ask(&self.books.experience(), self.books.unix_ms());
        if let Err(hold) = answer {
            self.suggested("", "", Usage::default(), Some(hold.code()));
            return query;
        }
        let (background, params) = (self.engine.background.clone(), self.params());
        query.spawn(async move {
            let answer = generate_suggestion(&background, &params, Guards::default()).await;
            let (suggestions, usage) = match answer {
                Ok(generated) => (Some(generated.suggestions), generated.usage),
                Err(suppressed) => (None, suppressed.usage),
            };
            Answer { request, suggestions, usage, above: None }
        });
        query
    }

    /// Lets time pass, and does what falls due.
    async fn until(&mut self, at: Instant, query: &mut Query) {
        loop {
            let wake = self.wake_at.map(|ms| self.books.started + Duration::from_millis(ms));
            tokio::select! {
                biased;
                Some(Ok(answer)) = query.join_next() => self.on_suggestion(answer),
                () = sleep_until(wake.unwrap_or(at)), if wake.is_some() => {
                    self.wake_at = None;
                    self.controller_says(Followup::Wake);
                }
                () = sleep_until(at) => return,
            }
        }
    }

    fn on_suggestion(&mut self, answer: Answer) {
        let Answer { request, suggestions, usage, above } = answer;
        self.above = above;
        let id = request.0.to_string();
        let text = suggestions.as_ref().map(|all| all.best().as_str().to_owned()).unwrap_or_default();
        let reason = if suggestions.is_some() { None } else { Some("empty") };
        self.suggested(&id, &text, usage, reason);
        if reason.is_some() {
            self.drop_above();
            return;
        }
        self.tally.suggested += 1;
        self.offer = Some((id, false));
        self.controller_says(Followup::Suggested { request, suggestions });
    }

    fn controller_says(&mut self, event: Followup) {
        let now = u64::try_from(self.books.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let fate = self.fate();
        for effect in self.controller.handle(now, event) {
            match effect {
                Effect::Show { .. } => {
                    if let Some((_, seen)) = &mut self.offer {
                        *seen = true;
                    }
                }
                Effect::WakeAt { at } => self.wake_at = Some(at),
                Effect::StartSpeculation { suggestions } => self.start(suggestions.best()),
                Effect::AbandonSpeculation => self.drop_suggestion(fate),
                _ => {}
            }
        }
    }

    fn fate(&self) -> Outcome {
        match &self.offer {
            Some((_, true)) => Outcome::Ignored,
            _ => Outcome::Replaced,
        }
    }

    fn start(&mut self, suggestion: &Suggestion) {
        let Some((id, _)) = self.offer.clone() else { return };
        if let Some((speculation, driver)) = self.above.take() {
            self.tally.ran += 1;
            self.ahead = Some(Ahead { id, speculation, noted: false, driver });
            return;
        }
        let Some(allowance) = self.books.run(suggestion.as_str()) else { return };
        let engine = Engine { limits: allowance.under(self.engine.limits), ..self.engine.clone() };
        let started = engine.start(id.clone(), &self.params(), suggestion.as_str());
        let Ok((speculation, work, _events)) = started else { return };
        self.tally.ran += 1;
        let mut driver = JoinSet::new();
        driver.spawn(work);
        self.ahead = Some(Ahead { id, speculation, noted: false, driver });
    }

    /// The user takes the work. Gives it back where it is what the turn came to: it knows the next suggestion.
    async fn take(&mut self, turn: usize, mut ahead: Ahead) -> Option<Ahead> {
        let prompt = Transcript::new(&Script::prompt(turn, true));
        let running = ahead.speculation.status() == Status::Running;
        if running && self.setting.way == Way::Finished {
            self.close(ahead, Outcome::Failed, 0);
            self.foreground(prompt).await;
            return None;
        }
        let Ok(Acceptance::Accepted(accepted)) = ahead.speculation.accept().await else {
            self.close(ahead, Outcome::Failed, 0);
            self.foreground(prompt).await;
            return None;
        };
        self.tally.taken += 1;
        self.tally.joined += usize::from(running);
        self.note_run(&mut ahead);
        self.taken += of_work(&ahead.speculation).tokens;
        let outcome = if running { Outcome::Joined } else { Outcome::Accepted };
        self.decide(ahead.id.clone(), outcome, accepted.time_saved_ms);
        if accepted.ending == Ending::Completed {
            self.history.extend(accepted.transcript.messages);
            return Some(ahead);
        }
        self.foreground(accepted.transcript).await;
        None
    }

    async fn foreground(&mut self, transcript: Transcript) {
        let request = ModelRequest {
            model: "simulated".into(),
            system: None,
            tools: self.engine.toolbox.schemas(),
            messages: self.history.clone(),
            thinking: false,
            response_schema: None,
            max_output_tokens: None,
        };
        let endless = Limits {
            turns: 1_000,
            messages: 10_000,
            tokens: u64::MAX,
            time: Duration::from_secs(86_400),
            ..self.engine.limits
        };
        let model = Arc::clone(&self.own) as Arc<dyn Model>;
        let (turn, _events) = self.engine.turn(model, request, transcript, endless);
        let ending = turn.run().await;
        assert_eq!(ending, Ending::Completed, "the script goes on to the last word");
        self.history.extend(turn.transcript().messages);
        let cost = turn.cost();
        let entry = Entry::Turn(self.work(cost.tokens, cost.work_ms, 0));
        self.note(entry);
    }

    /// No suggestion any more, and no work ahead.
    fn drop_suggestion(&mut self, outcome: Outcome) {
        let offer = self.offer.take();
        self.drop_above();
        match self.ahead.take() {
            Some(ahead) => self.close(ahead, outcome, 0),
            None => {
                if let Some((id, _)) = offer {
                    self.decide(id, outcome, 0);
                }
            }
        }
        if outcome == Outcome::Aborted {
            self.controller_says(Followup::Clear);
        }
    }

    fn close(&mut self, mut ahead: Ahead, outcome: Outcome, saved_ms: u64) {
        self.note_run(&mut ahead);
        if let Some(Some(above)) = ahead.speculation.above().now_or_never() {
            // Nobody has seen it: that it goes says nothing of what the user wants.
            let id = format!("{}+", ahead.id);
            self.note_run(&mut Ahead {
                id: id.clone(),
                speculation: above,
                noted: false,
                driver: JoinSet::new(),
            });
            self.decide(id, Outcome::Aborted, 0);
            self.tally.ran += 1;
        }
        self.decide(ahead.id, outcome, saved_ms);
        ahead.speculation.abort();
    }

    /// The step above was not what is suggested.
    fn drop_above(&mut self) {
        if let Some((speculation, driver)) = self.above.take() {
            let id = speculation.id().to_owned();
            self.close(Ahead { id, speculation, noted: false, driver }, Outcome::Aborted, 0);
        }
    }

    fn note_run(&mut self, ahead: &mut Ahead) {
        if std::mem::replace(&mut ahead.noted, true) {
            return;
        }
        let cost = of_work(&ahead.speculation);
        let running = ahead.speculation.status() == Status::Running;
        let line: Speculated = serde_json::from_value(json!({ "id": ahead.id, "kind": "change" }))
            .expect("works because nothing else is needed");
        let work = self.work(cost.tokens, cost.work_ms, u32::from(running));
        self.note(Entry::Speculation(Speculated { work, ..line }));
    }

    fn suggested(&mut self, id: &str, text: &str, tokens: Usage, suppressed: Option<&str>) {
        let entry = Suggested {
            id: id.to_owned(),
            source: headstart_budget::ledger::Source::Chat,
            kind: headstart_budget::ledger::Kind::of(text),
            suppressed: suppressed.map(str::to_owned),
            code: None,
            beside: None,
            shares_cache: true,
            work: self.work(tokens, 0, 0),
            prompt: None,
        };
        self.note(Entry::Suggestion(entry));
    }

    fn decide(&mut self, id: String, outcome: Outcome, saved_ms: u64) {
        self.note(Entry::Outcome(Decision {
            id,
            at: self.books.unix_ms(),
            outcome,
            saved_ms,
            held: None,
            changes: None,
        }));
    }

    fn note(&mut self, entry: Entry) {
        self.books.experience().observe(&self.books.policy, &entry);
        self.entries.push(entry);
    }

    fn work(&self, tokens: Usage, work_ms: u64, unmeasured: u32) -> Work {
        Work { at: self.books.unix_ms(), model: "simulated".into(), tokens, money: None, unmeasured, work_ms }
    }

    fn params(&self) -> CacheSafeParams {
        CacheSafeParams::new(None, self.engine.toolbox.schemas(), &self.history, "simulated")
    }

    fn finish(mut self) -> Tally {
        self.tally.own = self.own.bill();
        self.tally.own += self.taken;
        self.tally.wasted = self.background.bill().since(self.taken);
        self.tally
    }
}

/// What the work cost, without the query for what comes after it.
fn of_work(speculation: &Speculation) -> Cost {
    match speculation.finished().now_or_never() {
        Some(finished) => finished.cost,
        None => speculation.cost(),
    }
}
