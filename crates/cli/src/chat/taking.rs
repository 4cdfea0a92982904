//! Taking work that ran ahead: the accept, and the one question where the mode asks before a write.

use headstart_overlay_fs::ChangeSet;
use headstart_speculation::ledger::Outcome;
use headstart_speculation::{Answers, AsksFirst, Event, Events, Speculation, Status};

use super::ahead::Ahead;
use super::books::Account;
use super::turn::Working;
use super::{Chat, show};
use crate::error::CliError;
use crate::output::call_title;
use crate::terminal::Style;

/// Rows that the question itself, its files and the prompt above it take.
const ROWS_BESIDE_THE_DIFF: usize = 8;
/// So much of a diff is shown however low the terminal is.
const LEAST_DIFF_ROWS: usize = 6;

/// Work that the user has taken and that is not handed over yet.
pub(super) struct Taken {
    pub(super) speculation: Speculation,
    /// What the work told before; shown when it is applied.
    pub(super) told: Vec<Event>,
    pub(super) events: Events,
    pub(super) account: Account,
    /// The next step, on top of the work.
    pub(super) above: Option<Box<Ahead>>,
}

impl Chat {
    /// Takes the work that ran ahead. Of work that still runs, what it has told is shown at once, what is still to come
    /// as it comes; of work that is done, when it is applied: a question or a conflict may come first.
    pub(super) fn take(&mut self, ahead: Ahead) -> Result<(), CliError> {
        let Ahead { speculation, events, mut told, ended, mut account, above, .. } = ahead;
        account.joined = speculation.status() == Status::Running;
        self.shown_call = None;
        if !ended {
            for event in told.drain(..) {
                self.tell(&event)?;
            }
        }
        self.accept(Taken { speculation, told, events, account, above }, Answers::default());
        Ok(())
    }

    fn accept(&mut self, taken: Taken, answers: Answers) {
        let accepted = taken.speculation.clone();
        let task = tokio::spawn(async move { accepted.accept_with(&answers).await });
        self.working = Some(Working::Accept { taken, task });
    }

    /// The mode asks before a write: the user is asked once, for all of it, and nothing is written before their yes.
    pub(super) fn ask_before(&mut self, taken: Taken, asks: Box<AsksFirst>) -> Result<(), CliError> {
        let changes = asks.changes();
        self.face.end_line()?;
        let counts = show::counts(&changes.summary());
        self.face.say(&format!("Take what ran ahead?  {counts}"), Style::Strong)?;
        self.face.say(&show::changes(&changes.summary(), &[]), Style::Plain)?;
        let room = self.face.rows().saturating_sub(ROWS_BESIDE_THE_DIFF + changes.changes.len());
        self.say_diff(changes, room.max(LEAST_DIFF_ROWS))?;
        if let Some(call) = asks.pending_call() {
            self.face.say(&format!("After that it asks: {}", call_title(call)), Style::Dim)?;
        }
        self.working = Some(Working::Asked { taken, asks });
        self.ask_about_changes();
        Ok(())
    }

    pub(super) fn on_agreed(&mut self) -> Result<(), CliError> {
        let Some((taken, asks)) = self.asked_about() else { return Ok(()) };
        self.face.say("  yes", Style::Dim)?;
        self.accept(taken, asks.agreed());
        Ok(())
    }

    /// The work is dropped; its prompt is in the line again, before what was to follow.
    pub(super) fn on_declined(&mut self) -> Result<(), CliError> {
        let Some((taken, _)) = self.asked_about() else { return Ok(()) };
        let Taken { speculation, mut account, above, .. } = taken;
        self.books.closed(&mut account, &speculation, Outcome::Ignored, 0);
        self.close_steps(&speculation, above);
        speculation.abort();
        self.face.say("  no: nothing was written, and what ran ahead is dropped", Style::Dim)?;
        self.queued.push_front(speculation.prompt().to_owned());
        self.unqueue();
        Ok(())
    }

    pub(super) fn show_whole_diff(&mut self) -> Result<(), CliError> {
        let Some(Working::Asked { asks, .. }) = &self.working else { return Ok(()) };
        let changes = asks.changes().clone();
        self.say_diff(&changes, usize::MAX)
    }

    /// As many lines of the diff as there is room for, and how many more there are.
    pub(super) fn say_diff(&mut self, changes: &ChangeSet, room: usize) -> Result<(), CliError> {
        let diff = changes.diff();
        let lines: Vec<_> = diff.lines().collect();
        let shown = if lines.len() <= room { lines.len() } else { room.saturating_sub(1) };
        for line in &lines[..shown] {
            self.face.say(line, show::diff_style(line))?;
        }
        match lines.len() - shown {
            0 => Ok(()),
            left => self.face.say(&format!("… {left} more lines: d shows all"), Style::Dim),
        }
    }

    fn asked_about(&mut self) -> Option<(Taken, Box<AsksFirst>)> {
        match self.working.take() {
            Some(Working::Asked { taken, asks }) => Some((taken, asks)),
            other => {
                self.working = other;
                None
            }
        }
    }
}
