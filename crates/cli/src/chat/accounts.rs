use headstart_budget::ledger::{Book, Source};
use headstart_budget::policy::{Habits, Hold};
use headstart_budget::{Metering, Unwritten};

use crate::accounts::{entries_of, ledger_of};
use crate::clock;
use crate::config::Config;
use crate::context::Context;
use crate::error::CliError;
use crate::habits::HabitsFile;
use crate::ledger::Ledger;
use crate::machine::Machine;
use crate::store::SpeculationId;

/// The metering of a chat with this machine's clock, and the files in which it is kept.
pub(crate) struct Accounts {
    metering: Metering,
    ledger: Ledger,
    habits: HabitsFile,
    /// The machine that does the background work, where it is this one and costs nothing.
    machine: Option<Machine>,
    /// What is wrong with the files, until the user was told.
    trouble: Option<String>,
    troubled: bool,
}

impl Accounts {
    /// Those of a workspace, with what earlier chats wrote.
    pub(crate) fn open(context: &Context, config: &Config, workspace: &str) -> Result<Self, CliError> {
        let ledger = ledger_of(context, config, workspace)?;
        let habits = HabitsFile::of(context.store().ok().as_ref());
        // A file that cannot be read is one without experience; a chat is possible all the same.
        let mut trouble = None;
        let mut or_default = |error: CliError, lost: &str| {
            trouble.get_or_insert(format!("{lost}: {error}"));
        };
        let book = ledger.read().unwrap_or_else(|error| {
            or_default(error, "what earlier chats cost is unknown");
            Book::default()
        });
        let known = habits.read().unwrap_or_else(|error| {
            or_default(error, "which suggestions you take is unknown");
            Habits::default()
        });
        let entries = entries_of(context, config, Source::Chat);
        Ok(Self {
            metering: Metering::new(entries, config.background, known, &book.entries),
            ledger,
            habits,
            machine: config.works_here().then(|| Machine::of(&context.environment)),
            troubled: trouble.is_some(),
            trouble,
        })
    }

    /// As it stands.
    pub(super) fn metering(&self) -> &Metering {
        &self.metering
    }

    /// What is wrong with the files, once.
    pub(super) fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Asks or tells the metering something, at this moment; what it writes down is on the disk afterwards.
    pub(super) fn meter<T>(&mut self, act: impl FnOnce(&mut Metering, u64) -> T) -> T {
        let answer = act(&mut self.metering, clock::unix_ms());
        self.write();
        answer
    }

    /// The same for what depends on whether this machine has something to spare.
    pub(super) fn judge<T>(&mut self, act: impl FnOnce(&mut Metering, u64) -> T) -> T {
        self.metering.set_machine(self.machine.as_ref().and_then(Machine::trouble));
        self.meter(act)
    }

    /// Whether to ask for a suggestion.
    pub(super) fn ask(&mut self) -> Result<(), Hold> {
        // Other chats may have learned something meanwhile.
        if let Ok(habits) = self.habits.read() {
            self.metering.adopt(habits);
        }
        self.judge(Metering::ask)
    }

    fn write(&mut self) {
        let Unwritten { entries, lessons } = self.metering.take_unwritten();
        for lesson in lessons {
            match self.habits.learn(lesson) {
                Ok(Some(habits)) => self.metering.adopt(habits),
                Ok(None) => {}
                Err(error) => self.is_troubled(&format!("which suggestions you take is not kept: {error}")),
            }
        }
        if let Err(error) = self.ledger.append(&entries) {
            self.is_troubled(&format!("the ledger lacks what this chat costs: {error}"));
        }
    }

    fn is_troubled(&mut self, trouble: &str) {
        if !std::mem::replace(&mut self.troubled, true) {
            self.trouble = Some(trouble.to_owned());
        }
    }
}

/// An id for a suggestion, in its place among those of an answer; one without chance where the system has none to give, which is
/// no reason not to suggest.
pub(super) fn new_id(request: u64, place: usize) -> String {
    SpeculationId::random()
        .map_or_else(|_| format!("{}-{request}-{place}", clock::unix_ms()), |id| id.as_str().to_owned())
}
