//! A user who works with an agent that runs ahead. The conversation is the one of the crate `agent`, as in the chat.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::future::BoxFuture;
use headstart_agent::{
    AfterDecline, AgentHandle, AgentOptions, EditKind, Item, LedgerStore, Matching, Ports, Runtime,
    StoreError, UserAnswer, agent,
};
use headstart_budget::ledger::{Entry, Outcome, Source};
use headstart_budget::policy::{Cap, Habits, Mode, Policy, Tariff};
use headstart_budget::{EntryBuilder, Metering, PendingWrites};
use headstart_forked_query::{BackgroundModel, Model, Prices, ToolCall, Usage};
use headstart_overlay_fs::MemoryTree;
use headstart_speculation::{Consent, Ending, Engine, Host, Limits};
use headstart_tool_gate::{ApprovalMode, Gate, GateContext, Verdict};
use headstart_toolbox::{ToolLimits, Toolbox};
use tokio::time::{Instant, sleep_until};

use crate::inputs::{FILES, SESSIONS_OF_A_DAY, TURNS_OF_A_SESSION, TYPING_SECONDS};
use crate::model::{SimulatedModel, SimulatedShell};
use crate::script::Script;

/// How much work is done ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Nothing: the user types every prompt and waits for every turn.
    Without,
    /// Suggestions run ahead. Work that is not finished when the user takes it is dropped and done again.
    Finished,
    /// Work that is not finished when the user takes it continues as the user's turn.
    Joining,
    /// Like [`Self::Joining`], and the suggestion after work that nobody has taken yet also runs ahead.
    TwoSteps,
}

/// One cell of the report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) strategy: Strategy,
    pub(crate) mode: Mode,
    pub(crate) hit_rate: f64,
}

/// The result of a setting.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    /// How long the user waited for each turn, in seconds.
    pub(crate) waits: Vec<f64>,
    pub(crate) suggested: usize,
    pub(crate) ran: usize,
    pub(crate) taken: usize,
    pub(crate) joined: usize,
    /// What the provider charges for the user's own turns, including those that ran ahead and were taken.
    pub(crate) own: Usage,
    /// What the provider charges without use: for suggestions, and for work that was not taken.
    pub(crate) wasted: Usage,
}

/// The program around the conversation, which gives it the runtime's clock and tasks.
#[derive(Clone, Copy)]
struct Program {
    started: Instant,
}

#[async_trait]
impl Host for Program {
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn gate_context(&self) -> GateContext {
        GateContext { mode: ApprovalMode::AutoEdit, workspace: "/project".into(), ..GateContext::default() }
    }

    /// Nothing is asked here, because the user agrees in the conversation.
    async fn consent(&self, _call: &ToolCall, _verdict: &Verdict) -> Consent {
        Consent::Stop
    }
}

impl Runtime for Program {
    fn unix_ms(&self) -> u64 {
        1_790_000_000_000 + u64::try_from(self.started.elapsed().as_millis()).unwrap_or_default()
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) -> Option<BoxFuture<'static, ()>> {
        tokio::spawn(work);
        None
    }
}

/// The ledger of the project.
#[derive(Default)]
struct MemoryLedger(Mutex<Vec<Entry>>);

impl MemoryLedger {
    fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl LedgerStore for MemoryLedger {
    async fn append(&self, pending_writes: PendingWrites) -> Result<Option<Habits>, StoreError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(pending_writes.entries);
        Ok(None)
    }
}

struct Simulation<'a> {
    script: &'a Script,
    scenario: Scenario,
    program: Program,
    own: Arc<SimulatedModel>,
    background: Arc<SimulatedModel>,
    ledger: Arc<MemoryLedger>,
    /// What earlier sessions have taught about the user.
    habits: Habits,
    waits: Vec<f64>,
}

/// Simulates all turns of the script.
pub(crate) fn simulate(script: &Arc<Script>, scenario: Scenario) -> Tally {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("works because a runtime without IO needs nothing from the system");
    runtime.block_on(async {
        let mut simulation = Simulation {
            script,
            scenario,
            program: Program { started: Instant::now() },
            own: SimulatedModel::new(Arc::clone(script), scenario.hit_rate),
            background: SimulatedModel::new(Arc::clone(script), scenario.hit_rate),
            ledger: Arc::default(),
            habits: Habits::default(),
            waits: Vec::new(),
        };
        for first in (0..script.turns.len()).step_by(TURNS_OF_A_SESSION) {
            if first != 0 && first.is_multiple_of(SESSIONS_OF_A_DAY * TURNS_OF_A_SESSION) {
                simulation.wait_until_tomorrow().await;
            }
            simulation.session(first).await;
        }
        simulation.finish()
    })
}

impl Simulation<'_> {
    /// Waits until the next day, while the user sleeps.
    async fn wait_until_tomorrow(&self) {
        const DAY_MS: u64 = 86_400_000;
        let left = DAY_MS - self.program.unix_ms() % DAY_MS;
        tokio::time::sleep(Duration::from_millis(left)).await;
    }

    /// Holds a new conversation in a new tree, with what was learned in earlier ones.
    async fn session(&mut self, first: usize) {
        let (agent, driver, mut updates) = agent(self.options(first), self.ports());
        let driver = tokio::spawn(driver.run());
        // The user agrees to everything at once.
        let handle = agent.clone();
        let consents = tokio::spawn(async move {
            while let Some(update) = updates.next().await {
                if let Some(question) = &update.view.question {
                    // A question that was answered already makes the answer stale, which changes nothing.
                    let _ = handle.answer(question.id, UserAnswer::Yes);
                }
            }
        });
        for turn in first..first + TURNS_OF_A_SESSION {
            let is_taken = turn != first && self.wait_between_turns(&agent, turn).await;
            let started = Instant::now();
            if !is_taken {
                agent.submit(&Script::prompt(turn, true)).expect("works because nothing else goes on");
            }
            agent.idle().await;
            self.waits.push(started.elapsed().as_secs_f64());
            let view = agent.view();
            let ending = view.items.iter().rev().find_map(|item| match &**item {
                Item::End { ending } => Some(ending),
                _ => None,
            });
            assert_eq!(ending, Some(&Ending::Completed), "the script goes on to the last word");
        }
        agent.close().await;
        self.habits = agent.metering(|metering| *metering.experience().habits());
        for task in [driver, consents] {
            task.await.expect("works because nothing in it panics");
        }
    }

    /// Waits from the end of one turn to the beginning of the next. Returns whether the user took the suggestion;
    /// otherwise they have typed their prompt.
    async fn wait_between_turns(&self, agent: &AgentHandle, turn: usize) -> bool {
        let now = Instant::now();
        let found = &self.script.turns[turn];
        let is_hit = found.luck < self.scenario.hit_rate;
        let typing = found.thinking.saturating_sub(Duration::from_secs_f64(TYPING_SECONDS));
        let (sends_at, types_at) = (now + found.thinking, now + typing.max(found.reading));
        let mut checkpoints = vec![types_at];
        if is_hit {
            checkpoints.insert(0, now + found.reading);
        }
        for at in checkpoints {
            sleep_until(at).await;
            let view = agent.view();
            let Some(shown) = view.suggestion.as_ref().filter(|_| is_hit) else { continue };
            let is_running = view.ahead.as_ref().is_some_and(|ahead| ahead.finished.is_none());
            if is_running && self.scenario.strategy == Strategy::Finished {
                agent.dismiss();
                return false;
            }
            if agent.take(&shown.text).is_ok() {
                return true;
            }
        }
        agent.edited(&Script::prompt(turn, true), EditKind::Typed);
        sleep_until(sends_at).await;
        false
    }

    fn options(&self, first: usize) -> AgentOptions {
        let endless = Cap { tokens: u64::MAX, money: None, time: Duration::MAX };
        let policy = match self.scenario.mode {
            Mode::Always => Policy {
                mode: Mode::Always,
                turn: endless,
                session: endless,
                day: endless,
                ..Policy::default()
            },
            mode => Policy { mode, ..Policy::default() },
        };
        let entries = EntryBuilder::new(Source::Chat, Tariff::new("simulated", Prices::default()));
        AgentOptions {
            system: String::new(),
            model: "simulated".into(),
            restore: None,
            window: None,
            metering: Metering::new(entries, policy, self.habits, &self.ledger.entries()),
            suggestions: self.scenario.strategy != Strategy::Without,
            speculation: true,
            candidates: 1,
            parallel: 1,
            matching: Matching::Off,
            attended: true,
            titles: false,
            after_decline: AfterDecline::default(),
            events: false,
            id: format!("session-{first}"),
        }
    }

    fn ports(&self) -> Ports {
        let files: Vec<_> = (0..FILES).map(|number| format!("src/file-{number}.rs")).collect();
        let files = files.iter().map(|name| (name.as_str(), ""));
        let tree = MemoryTree::from_files(files).expect("works because the names are plain");
        let limits = Limits {
            depth: if self.scenario.strategy == Strategy::TwoSteps { 2 } else { 1 },
            tools: ToolLimits { command_time: Duration::from_secs(900), ..ToolLimits::default() },
            ..Limits::default()
        };
        let engine = Engine {
            background: BackgroundModel::main(Arc::clone(&self.background) as Arc<dyn Model>, "simulated"),
            toolbox: Toolbox::standard(Some(Arc::new(SimulatedShell))),
            workspace: Arc::new(tree),
            gate: Arc::new(Gate::new()),
            host: Arc::new(self.program),
            limits,
        };
        Ports {
            engine,
            model: Arc::clone(&self.own) as Arc<dyn Model>,
            runtime: Arc::new(self.program),
            ledger: Arc::clone(&self.ledger) as Arc<dyn LedgerStore>,
            session: None,
        }
    }

    /// Adds up the entries of the ledger and the provider's bill.
    fn finish(self) -> Tally {
        let mut tally = Tally { waits: self.waits, ..Tally::default() };
        let mut runs = BTreeMap::new();
        let mut taken = Usage::default();
        for entry in self.ledger.entries() {
            match entry {
                Entry::Suggestion(suggested) if suggested.suppressed.is_none() => tally.suggested += 1,
                Entry::Speculation(run) => {
                    tally.ran += 1;
                    runs.insert(run.id, run.work.tokens);
                }
                Entry::Outcome(decision) if decision.outcome.is_hit() => {
                    // A suggestion that did not run has cost nothing by itself.
                    let Some(tokens) = runs.get(&decision.id) else { continue };
                    taken += *tokens;
                    tally.taken += 1;
                    tally.joined += usize::from(decision.outcome == Outcome::Joined);
                }
                _ => {}
            }
        }
        tally.own = self.own.bill();
        tally.own += taken;
        tally.wasted = self.background.bill().since(taken);
        tally
    }
}
