//! A user who works with an agent that runs ahead. The conversation is the one of the crate `agent`, as in the chat.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::future::BoxFuture;
use headstart_agent::{
    AfterDecline, AgentHandle, AgentOptions, Item, LedgerStore, Matching, Ports, Runtime, StoreError,
    UserAnswer, agent,
};
use headstart_budget::ledger::{Entry, Outcome, Source};
use headstart_budget::policy::{Habits, Mode, Policy, Tariff};
use headstart_budget::{EntryBuilder, Metering, PendingWrites};
use headstart_forked_query::{BackgroundModel, Model, Money, Price, Prices, ToolCall, Usage};
use headstart_overlay_fs::MemoryTree;
use headstart_speculation::{Consent, Ending, Engine, Host, Limits};
use headstart_tool_gate::{ApprovalMode, Gate, GateContext, Verdict};
use headstart_toolbox::Toolbox;
use tokio::time::Instant;

use crate::inputs::{SESSIONS_OF_A_DAY, TURNS_OF_A_SESSION};
use crate::model::SimulatedModel;
use crate::script::Script;

/// The model of the conversation and of work ahead.
const MODEL: &str = "simulated";

/// What a medium model costs, in dollars for a million tokens: 3 for input, a tenth of it from the cache, 15 for output.
pub(crate) fn price() -> Price {
    Price { cache_write: money(3.75), ..Price::new(money(3.0), money(0.3), money(15.0)) }
}

fn prices() -> Prices {
    Prices::from_iter([(MODEL.to_owned(), price())])
}

fn money(dollars: f64) -> Money {
    Money::new(dollars).expect("works because the amounts are small")
}

/// One row of the report.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) mode: Mode,
    /// What questions and work that nobody takes may cost on a day, in dollars.
    pub(crate) limit: f64,
    /// What an hour of waiting is worth, in dollars.
    pub(crate) hour_is_worth: f64,
}

/// The result of a setting.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tally {
    /// How long the user waited for each turn, in seconds.
    pub(crate) waits: Vec<f64>,
    /// Guesses that were shown.
    pub(crate) shown: usize,
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
            own: SimulatedModel::new(Arc::clone(script)),
            background: SimulatedModel::new(Arc::clone(script)),
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
        self.habits = agent.metering(|metering| metering.experience().habits().clone());
        for task in [driver, consents] {
            task.await.expect("works because nothing in it panics");
        }
    }

    /// Waits from the end of one turn to the beginning of the next. Returns whether the user took the guess, with a key
    /// or by words that ask for the same; otherwise they have typed something else.
    async fn wait_between_turns(&self, agent: &AgentHandle, turn: usize) -> bool {
        let found = &self.script.turns[turn];
        tokio::time::sleep(found.pause).await;
        let is_right = found.guess.is_some_and(|(_, is_right)| is_right);
        let shown = agent.view().suggestion.clone();
        shown.is_some_and(|shown| is_right && agent.take(&shown.text).is_ok())
    }

    fn options(&self, first: usize) -> AgentOptions {
        let policy = Policy {
            mode: self.scenario.mode,
            limit: money(self.scenario.limit),
            hour_is_worth: money(self.scenario.hour_is_worth),
            ..Policy::default()
        };
        let entries = EntryBuilder::new(Source::Chat, Tariff::new(MODEL, prices()));
        AgentOptions {
            system: String::new(),
            model: MODEL.into(),
            restore: None,
            window: None,
            metering: Metering::new(entries, policy, self.habits.clone(), &self.ledger.entries()),
            suggestions: self.scenario.mode != Mode::Off,
            speculation: true,
            candidates: 1,
            matching: Matching::Off,
            attended: true,
            titles: false,
            after_decline: AfterDecline::default(),
            events: false,
            id: format!("session-{first}"),
        }
    }

    fn ports(&self) -> Ports {
        let engine = Engine {
            background: BackgroundModel::main(Arc::clone(&self.background) as Arc<dyn Model>, MODEL),
            toolbox: Toolbox::standard(None),
            workspace: Arc::new(MemoryTree::new()),
            gate: Arc::new(Gate::new()),
            host: Arc::new(self.program),
            limits: Limits { time: Duration::from_secs(3_600), ..Limits::default() },
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
                Entry::Suggestion(suggested) if suggested.suppressed.is_none() => tally.shown += 1,
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
