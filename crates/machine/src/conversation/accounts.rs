use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::future::BoxFuture;
use headstart_agent::native::TokioRuntime;
use headstart_agent::{LedgerStore, Runtime, StoreError};
use headstart_budget::ledger::{LedgerContents, Source};
use headstart_budget::policy::{Habits, SkipReason};
use headstart_budget::{EntryBuilder, Metering, PendingWrites};

use super::models::LocalModelFlag;
use crate::accounts::{entries_of, ledger_of};
use crate::clock;
use crate::config::Config;
use crate::context::Context;
use crate::error::CliError;
use crate::habits::HabitsFile;
use crate::ledger::Ledger;
use crate::machine::Machine;
use crate::store::SpeculationId;

/// What a chat knows about costs, and where that is kept.
pub struct Accounts {
    pub metering: Metering,
    pub store: AccountFiles,
    pub runtime: ChatRuntime,
    /// What is wrong with the files; empty if nothing is.
    pub trouble: String,
}

/// The files with the ledger of the workspace and the habits of its user.
pub struct AccountFiles {
    ledger: Ledger,
    habits: Mutex<HabitsFile>,
}

/// The Tokio runtime, and the machine of this process.
pub struct ChatRuntime {
    machine: Machine,
    /// Whether this machine does the background work, so that it costs nothing.
    uses_local_model: LocalModelFlag,
}

impl ChatRuntime {
    pub(crate) fn uses_local_model(&self) -> LocalModelFlag {
        Arc::clone(&self.uses_local_model)
    }
}

impl Accounts {
    /// Opens the accounts of a workspace, with what earlier chats wrote.
    pub(crate) fn open(context: &Context, config: &Config, workspace: &str) -> Result<Self, CliError> {
        let entries = entries_of(context, config, Source::Chat);
        Self::with(context, config, workspace, entries)
    }

    /// Opens the accounts for a program that asks its own models, with its prices.
    pub fn of_agent(
        context: &Context,
        config: &Config,
        workspace: &str,
        tariff: headstart_budget::policy::Tariff,
    ) -> Result<Self, CliError> {
        let mut entries = entries_of(context, config, Source::Chat);
        entries.set_tariff(tariff);
        Self::with(context, config, workspace, entries)
    }

    fn with(
        context: &Context,
        config: &Config,
        workspace: &str,
        entries: EntryBuilder,
    ) -> Result<Self, CliError> {
        let ledger = ledger_of(context, config, workspace)?;
        let habits = HabitsFile::of(context.store().ok().as_ref());
        // A file that cannot be read counts as an empty one, because a chat is possible without experience.
        let mut trouble = String::new();
        let mut or_default = |error: CliError, lost: &str| {
            if trouble.is_empty() {
                trouble = format!("{lost}: {error}");
            }
        };
        let book = ledger.read().unwrap_or_else(|error| {
            or_default(error, "what earlier chats cost is unknown");
            LedgerContents::default()
        });
        let known = habits.read().unwrap_or_else(|error| {
            or_default(error, "which suggestions you take is unknown");
            Habits::default()
        });
        Ok(Self {
            metering: Metering::new(entries, config.background, known, &book.entries),
            store: AccountFiles { ledger, habits: Mutex::new(habits) },
            runtime: ChatRuntime {
                machine: Machine::of(&context.environment),
                uses_local_model: Arc::new(config.uses_local_model().into()),
            },
            trouble,
        })
    }
}

impl AccountFiles {
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

#[async_trait]
impl LedgerStore for AccountFiles {
    async fn append(&self, pending_writes: PendingWrites) -> Result<Option<Habits>, StoreError> {
        let PendingWrites { entries, habit_updates } = pending_writes;
        let written = self.ledger.append(&entries);
        let mut learned = None;
        for lesson in habit_updates {
            let habits = self.habits.lock().unwrap_or_else(PoisonError::into_inner).record(lesson);
            learned = habits
                .map_err(|error| format!("which suggestions you take is not kept: {error}"))?
                .or(learned);
        }
        written.map_err(|error| format!("the ledger lacks what this chat costs: {error}"))?;
        Ok(learned)
    }

    async fn habits(&self) -> Option<Habits> {
        self.habits.lock().unwrap_or_else(PoisonError::into_inner).read().ok()
    }
}

impl Runtime for ChatRuntime {
    fn unix_ms(&self) -> u64 {
        TokioRuntime.unix_ms()
    }

    fn machine(&self) -> Option<SkipReason> {
        if self.uses_local_model.load(Ordering::Relaxed) { self.machine.trouble() } else { None }
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) -> Option<BoxFuture<'static, ()>> {
        TokioRuntime.spawn(work)
    }
}

/// The beginning of a conversation's ids. If the system cannot give random numbers, the time is used instead, because
/// that is no reason to suggest nothing.
pub fn conversation_id() -> String {
    SpeculationId::random().map_or_else(|_| clock::unix_ms().to_string(), |id| id.as_str().to_owned())
}
