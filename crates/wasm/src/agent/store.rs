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
pub(crate) struct JsStore(SendWrapper<KeepPort>);

impl JsStore {
    pub(crate) fn new(port: KeepPort) -> Self {
        Self(SendWrapper::new(port))
    }
}

#[async_trait]
impl SessionStore for JsStore {
    async fn append(&self, lines: String) -> Result<(), StoreError> {
        let answer = Answers::new(self.0.session(&lines));
        answer.single().await.map(drop).map_err(|failure| failure.message.into())
    }
}

/// The ledger. The developer keeps it, and the costs are summed up here for display.
pub(crate) struct JsLedger {
    store: Arc<JsStore>,
    state: Mutex<LedgerState>,
}

#[derive(Default)]
pub(crate) struct LedgerState {
    habits: Habits,
    /// The cost of runs whose outcome is not known yet, by their ids.
    open: BTreeMap<String, Usage>,
    costs: ConversationCosts,
}

/// What a conversation has cost.
#[derive(Serialize, Default, Clone, Copy)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConversationCosts {
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

impl JsLedger {
    pub(crate) fn new(store: Arc<JsStore>, habits: Habits) -> Self {
        Self { store, state: Mutex::new(LedgerState { habits, ..LedgerState::default() }) }
    }

    pub(crate) fn costs(&self) -> ConversationCosts {
        let state = self.state();
        let mut costs = state.costs;
        for usage in state.open.values() {
            costs.ahead += *usage;
        }
        costs
    }

    fn state(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerState {
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
impl LedgerStore for JsLedger {
    async fn append(&self, pending_writes: PendingWrites) -> Result<Option<Habits>, StoreError> {
        let (lines, habits) = {
            let mut state = self.state();
            pending_writes.entries.iter().for_each(|entry| state.observe(entry));
            pending_writes.habit_updates.iter().for_each(|update| state.habits.apply(update));
            let lines: String = pending_writes.entries.iter().map(Entry::to_line).collect();
            (lines, json(&state.habits))
        };
        let answer = Answers::new(self.store.0.ledger(&lines, &habits));
        answer.single().await.map(|_| None).map_err(|failure| failure.message.into())
    }
}
