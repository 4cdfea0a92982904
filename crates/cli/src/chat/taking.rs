//! Taking work that ran ahead: the accept, and the one question where the mode asks before a write.

use std::time::Instant;

use headstart_budget::RunMeter;
use headstart_budget::ledger::Outcome;
use headstart_overlay_fs::{ChangeSet, Choice};
use headstart_speculation::{Answers, AsksFirst, Event, Events, Speculation, Status};

use super::ahead::Ahead;
use super::commits::Unwritten;
use super::conflict::Conflicts;
use super::turn::{Task, Working};
use super::{Chat, show};
use crate::error::CliError;
use crate::output::call_title;
use crate::terminal::{Answer, Consent, Style};

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
    pub(super) meter: RunMeter,
    /// The next step, on top of the work.
    pub(super) above: Option<Box<Ahead>>,
    /// What the user has said to it so far.
    answers: Answers,
}

/// What work that is taken waits for.
pub(super) enum Asked {
    /// A yes to its changes.
    Changes(AsksFirst),
    /// A word on each file that the user changed as well.
    Conflicts(Conflicts),
    /// A word on commits that cannot be taken as they are.
    Commits(Box<Unwritten>),
}

impl Chat {
    /// Takes the work that ran ahead. Of work that still runs, what it has told is shown at once, what is still to come
    /// as it comes; of work that is done, when it is applied: a question or a conflict may come first.
    pub(super) fn take(&mut self, ahead: Ahead) -> Result<(), CliError> {
        let Ahead { speculation, events, mut told, ended, mut meter, above, .. } = ahead;
        meter.joined = speculation.status() == Status::Running;
        self.shown_call = None;
        if !ended {
            for event in told.drain(..) {
                self.tell(&event)?;
            }
        }
        let answers = Answers::default();
        self.accept(Taken { speculation, told, events, meter, above, answers });
        Ok(())
    }

    fn accept(&mut self, taken: Taken) {
        let (accepted, answers) = (taken.speculation.clone(), taken.answers.clone());
        let task = Box::new(Task::spawn(async move { accepted.accept_with(&answers).await }));
        self.working = Some(Working::Accept { taken, task });
    }

    /// The mode asks before a write: the user is asked once, for all of it, and nothing is written before their yes.
    pub(super) fn ask_before(&mut self, taken: Taken, asks: AsksFirst) -> Result<(), CliError> {
        let changes = asks.changes();
        self.face.end_line()?;
        let counts = show::counts_with(&changes.summary(), asks.git());
        self.face.say(&format!("Take what ran ahead?  {counts}"), Style::Strong)?;
        self.face.say(&show::changes(&changes.summary(), &[], asks.git()), Style::Plain)?;
        let room = self.face.rows().saturating_sub(ROWS_BESIDE_THE_DIFF + changes.changes.len());
        self.say_diff(changes, room.max(LEAST_DIFF_ROWS))?;
        if let Some(call) = asks.pending_call() {
            self.face.say(&format!("After that it asks: {}", call_title(call)), Style::Dim)?;
        }
        self.working = Some(Working::Asked { taken, asked: Box::new(Asked::Changes(asks)) });
        self.ask(Consent::about_changes("write this?", Instant::now()));
        Ok(())
    }

    /// The answer to a question about work that is taken.
    pub(super) fn on_answer_about_work(&mut self, answer: Answer) -> Result<(), CliError> {
        let Some(Working::Asked { taken, asked }) = self.working.take() else { return Ok(()) };
        match (*asked, answer) {
            (Asked::Changes(asks), Answer::Yes) => {
                self.face.say("  yes", Style::Dim)?;
                self.accept(Taken { answers: asks.agreed(), ..taken });
                Ok(())
            }
            (Asked::Changes(_), Answer::No) => self.decline(taken, Outcome::Ignored),
            (Asked::Changes(asks), _) => {
                self.say_diff(asks.changes(), usize::MAX)?;
                self.working = Some(Working::Asked { taken, asked: Box::new(Asked::Changes(asks)) });
                self.ask(Consent::about_changes("write this?", Instant::now()));
                Ok(())
            }
            (Asked::Conflicts(_) | Asked::Commits(_), Answer::No) => self.decline(taken, Outcome::Conflict),
            (Asked::Commits(unwritten), answer) => self.on_answer_about_commits(taken, *unwritten, answer),
            (Asked::Conflicts(conflicts), answer) => self.on_choice(taken, conflicts, answer),
        }
    }

    /// All files have their word: nothing was written before, and now all is, or the user is asked again.
    pub(super) fn accept_with_choices(&mut self, mut taken: Taken, choices: Vec<Choice>) {
        taken.answers = taken.answers.with_choices(choices);
        self.accept(taken);
    }

    /// The work is dropped; its prompt is in the line again, before what was to follow.
    pub(super) fn decline(&mut self, taken: Taken, outcome: Outcome) -> Result<(), CliError> {
        let prompt = taken.speculation.prompt().to_owned();
        self.drop_unwritten(taken, outcome);
        self.face.say("  no: nothing was written, and what ran ahead is dropped", Style::Dim)?;
        self.queued.push_front(prompt);
        self.unqueue();
        Ok(())
    }

    /// The work is dropped without a word.
    pub(super) fn drop_unwritten(&mut self, taken: Taken, outcome: Outcome) {
        let mut taken = taken;
        self.close_taken(&mut taken, outcome, 0);
        self.close_steps(&taken.speculation, taken.above);
        taken.speculation.abort();
    }

    /// The ledger is told what became of the work.
    pub(super) fn close_taken(&mut self, taken: &mut Taken, outcome: Outcome, saved_ms: u64) {
        let Taken { speculation, meter, .. } = taken;
        self.accounts.meter(|metering, now| metering.closed(now, meter, speculation, outcome, saved_ms));
    }

    /// As many lines of the diff as there is room for, and how many more there are.
    pub(super) fn say_diff(&mut self, changes: &ChangeSet, room: usize) -> Result<(), CliError> {
        self.say_lines(&changes.diff().lines().collect::<Vec<_>>(), room)
    }

    pub(super) fn say_lines(&mut self, lines: &[&str], room: usize) -> Result<(), CliError> {
        let shown = if lines.len() <= room { lines.len() } else { room.saturating_sub(1) };
        for line in &lines[..shown] {
            self.face.say(line, show::diff_style(line))?;
        }
        match lines.len() - shown {
            0 => Ok(()),
            left => self.face.say(&format!("… {left} more lines: d shows all"), Style::Dim),
        }
    }
}
