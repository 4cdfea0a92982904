use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use headstart_agent::{LedgerStore, SessionStore, StoreError};
use headstart_budget::PendingWrites;
use headstart_budget::ledger::Entry;
use headstart_budget::policy::Habits;
use headstart_forked_query::{Money, Usage};
use send_wrapper::SendWrapper;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::failure::json;
use crate::port::{Answers, AnswersPort};

#[wasm_bindgen]
extern "C" {
    /// Where the developer keeps a conversation and its ledger: `npm/src/agent-port.ts`.
    pub type KeepPort;

    /// Adds lines to the conversation: one answer, which is empty.
    #[wasm_bindgen(method)]
    fn session(this: &KeepPort, lines: &str) -> AnswersPort;

    /// Adds lines to the project's ledger, and replaces what is known of the user by `habits`: one answer, which is
    /// empty.
    #[wasm_bindgen(method)]
    fn ledger(this: &KeepPort, lines: &str, habits: &str) -> AnswersPort;
}

/// Makes [`KeepPort`] `Send`, as the ports have to be. This is sound because there is one thread.
pub(crate) struct Store(SendWrapper<KeepPort>);

impl Store {
    pub(crate) fn new(port: KeepPort) -> Self {
        Self(SendWrapper::new(port))
    }
}

#[async_trait]
impl SessionStore for Store {
    async fn append(&self, lines: String) -> Result<(), StoreError> {
        let answer = Answers::new(self.0.session(&lines));
        answer.only().await.map(drop).map_err(|failure| failure.message.into())
    }
}

/// The ledger. The developer keeps it, and the costs are summed up here for display.
pub(crate) struct Ledger {
    store: Arc<Store>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
pub(crate) struct Kept {
    habits: Habits,
    /// The cost of runs whose outcome is not known yet, by their ids.
    open: BTreeMap<String, Usage>,
    costs: Costs,
}

/// What a conversation has cost.
#[derive(Serialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Costs {
    /// The user's own turns, including work ahead that they took.
    turns: Usage,
    /// Work ahead that was not taken.
    ahead: Usage,
    /// Questions for suggestions.
    suggestions: Usage,
    /// How many requests were dropped half-way; what they cost is not known.
    unmeasured: u64,
    /// Milliseconds of work for which the user did not wait.
    saved_ms: u64,
    /// The cost of everything, as far as prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    money: Option<Money>,
}

impl Ledger {
    pub(crate) fn new(store: Arc<Store>, habits: Habits) -> Self {
        Self { store, kept: Mutex::new(Kept { habits, ..Kept::default() }) }
    }

    pub(crate) fn costs(&self) -> Costs {
        let kept = self.kept();
        let mut costs = kept.costs;
        for usage in kept.open.values() {
            costs.ahead += *usage;
        }
        costs
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn observe(&mut self, entry: &Entry) {
        let costs = &mut self.costs;
        let mut pay = |money: Option<Money>| {
            if let Some(money) = money {
                costs.money = Some(costs.money.unwrap_or_default().plus(money));
            }
        };
        match entry {
            Entry::Turn(work) | Entry::Summary(work) => pay(work.money),
            Entry::Suggestion(suggested) => pay(suggested.work.money),
            Entry::Speculation(run) => pay(run.work.money),
            _ => {}
        }
        match entry {
            Entry::Turn(work) => {
                costs.turns += work.tokens;
                costs.unmeasured += u64::from(work.unmeasured);
            }
            Entry::Suggestion(suggested) => {
                costs.suggestions += suggested.work.tokens;
                costs.unmeasured += u64::from(suggested.work.unmeasured);
            }
            Entry::Summary(work) => {
                costs.ahead += work.tokens;
                costs.unmeasured += u64::from(work.unmeasured);
            }
            Entry::Speculation(run) => {
                costs.unmeasured += u64::from(run.work.unmeasured);
                self.open.insert(run.id.clone(), run.work.tokens);
            }
            Entry::Outcome(decision) => {
                costs.saved_ms += decision.saved_ms;
                if let Some(usage) = self.open.remove(&decision.id) {
                    let purpose = if decision.outcome.is_hit() { &mut costs.turns } else { &mut costs.ahead };
                    *purpose += usage;
                }
            }
            _ => {}
        }
    }
}

#[async_trait]
impl LedgerStore for Ledger {
    async fn append(&self, pending_writes: PendingWrites) -> Result<Option<Habits>, StoreError> {
        let (lines, habits) = {
            let mut kept = self.kept();
            pending_writes.entries.iter().for_each(|entry| kept.observe(entry));
            pending_writes.habit_updates.iter().for_each(|update| kept.habits.apply(update));
            let lines: String = pending_writes.entries.iter().map(Entry::to_line).collect();
            (lines, json(&kept.habits))
        };
        let answer = Answers::new(self.store.0.ledger(&lines, &habits));
        answer.only().await.map(|_| None).map_err(|failure| failure.message.into())
    }
}
