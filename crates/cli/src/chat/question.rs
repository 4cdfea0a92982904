use std::sync::Arc;
use std::time::Instant;

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use headstart_agent::{Answer as Reply, Question as Asked, QuestionId, Subject};
use headstart_overlay_fs::Choice;

use super::Chat;
use crate::error::CliError;
use crate::offered::{Commits, Way};
use crate::terminal::{Answer, Consent, Style};

/// What the user is asked, in place of the prompt.
pub(super) struct Question {
    pub(super) id: QuestionId,
    pub(super) about: Arc<Subject>,
    pub(super) consent: Consent,
    /// What they have said of the first files, where it is about several.
    pub(super) choices: Vec<Choice>,
    /// Commits that can be kept, and where.
    pub(super) commits: Option<(Commits, Way)>,
}

impl Question {
    pub(super) fn consent(&self) -> &Consent {
        &self.consent
    }

    pub(super) fn asking(self, consent: Consent) -> Self {
        Self { consent, ..self }
    }
}

impl Chat {
    /// Shows a question that was not shown yet, and takes one away that does not stand any more.
    pub(super) fn on_question(&mut self, asked: Option<&Asked>) -> Result<(), CliError> {
        if self.question.as_ref().map(|question| question.id) == asked.map(|asked| asked.id) {
            return Ok(());
        }
        self.question = None;
        let Some(Asked { id, about, .. }) = asked else { return Ok(()) };
        self.face.end_answer()?;
        let consent = Consent::new("run this?", Instant::now());
        let question =
            Question { id: *id, about: Arc::clone(about), consent, choices: Vec::new(), commits: None };
        self.question = Some(match &**about {
            Subject::Call(judged) => {
                self.shown.diff = self.say_judged(judged)?;
                question
            }
            Subject::Changes(asks) => self.ask_about_changes(question, asks)?,
            Subject::Conflicts { conflicts, changes, tokens } => {
                self.say_conflicts(conflicts, changes, *tokens)?;
                return self.ask_about_next(question);
            }
            Subject::Commits { work, conflicts, git } => {
                self.ask_about_commits(question, work, conflicts, git.as_ref())?
            }
            // A question of a kind that this program does not know is one to which it says no.
            _ => {
                self.reply(*id, Reply::No);
                return Ok(());
            }
        });
        Ok(())
    }

    /// Ctrl-C says no to the call and interrupts the turn.
    pub(super) fn on_key_of_question(&mut self, event: &Event) -> Result<(), CliError> {
        let Some(question) = &mut self.question else { return Ok(()) };
        let Some(answer) = question.consent.handle(Instant::now(), event) else { return Ok(()) };
        let Some(question) = self.question.take() else { return Ok(()) };
        let about = Arc::clone(&question.about);
        match (&*about, answer) {
            (Subject::Call(_), answer) => {
                let (reply, told) = match answer {
                    Answer::Yes => (Reply::Yes, "  yes"),
                    _ => (Reply::No, "  no"),
                };
                self.face.say(told, Style::Dim)?;
                if is_interrupt(event) {
                    // The question goes with its turn.
                    let _ = self.agent.interrupt();
                } else {
                    self.reply(question.id, reply);
                }
                Ok(())
            }
            (_, Answer::No) => self.decline(question.id),
            (Subject::Changes(_), Answer::Yes) => {
                self.face.say("  yes", Style::Dim)?;
                self.shown.diff = true;
                self.reply(question.id, Reply::Yes);
                Ok(())
            }
            (Subject::Changes(asks), _) => {
                self.say_diff(asks.changes(), usize::MAX, "")?;
                self.question = Some(question.asking(Consent::about_changes("write this?", Instant::now())));
                Ok(())
            }
            (Subject::Commits { .. }, answer) => self.on_answer_about_commits(&question, answer),
            (_, answer) => self.on_choice(question, answer),
        }
    }

    /// Answers. A question that does not stand any more is no question any more.
    pub(super) fn reply(&self, question: QuestionId, reply: Reply) {
        let _ = self.agent.answer(question, reply);
    }

    /// The work is dropped; its prompt is in the line again, before what was to follow.
    pub(super) fn decline(&mut self, question: QuestionId) -> Result<(), CliError> {
        self.face.say("  no: nothing was written, and what ran ahead is dropped", Style::Dim)?;
        self.reply(question, Reply::No);
        Ok(())
    }

    /// The prompt of the work runs anew.
    pub(super) fn run_anew(&mut self, question: QuestionId) -> Result<(), CliError> {
        self.face.say("  again", Style::Dim)?;
        self.reply(question, Reply::Anew);
        Ok(())
    }
}

/// Whether it is Ctrl-C.
pub(super) fn is_interrupt(event: &Event) -> bool {
    matches!(event, Event::Key(key) if key.kind != KeyEventKind::Release
        && key.code == KeyCode::Char('c')
        && key.modifiers.contains(KeyModifiers::CONTROL))
}
