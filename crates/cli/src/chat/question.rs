use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use headstart_agent::{
    CallItem, Item, JudgedCall, Question as AgentQuestion, QuestionId, Subject, UserAnswer as Reply,
};
use headstart_machine::conflicting_commits::{CommitOffer, ConflictingCommits};
use headstart_machine::error::CliError;
use headstart_machine::output::one_line;
use headstart_overlay_fs::{ChangeSet, Choice};
use headstart_speculation::{ApprovalRequest, CallStage};
use headstart_terminal::{Action, Consent, ConsentAnswer, LineEditor, Passage, Style};

use super::{Chat, calls, show};

/// Shown above the line in which a user writes why they decline.
pub(super) const WHY_NOT: &str = "why not? Enter tells the model, Esc goes back to the question";

/// A question that is shown in place of the prompt.
pub(super) struct Question {
    pub(super) id: QuestionId,
    pub(super) about: Arc<Subject>,
    pub(super) consent: Consent,
    /// The answers for the first files, if the question is about several.
    pub(super) choices: Vec<Choice>,
    /// The question about a call: `run this?`, and which of several calls it is.
    pub(super) asks: String,
    /// What runs without a question for the rest of the session if the user agrees to that.
    pub(super) always: Option<String>,
    /// The editor for the reason, while the user writes why they decline.
    pub(super) why: Option<LineEditor>,
    /// Commits that can be kept, and where they are kept.
    pub(super) commits: Option<(ConflictingCommits, CommitOffer)>,
}

/// What somebody still types who answers with a word where its first letter has answered already.
#[derive(Debug)]
pub(super) struct RestOfAnswer {
    letters: String,
    answered_at: Instant,
}

impl RestOfAnswer {
    /// A word takes no longer to be typed. Later a line with the same letters is a prompt.
    const TYPED_WITHIN: Duration = Duration::from_secs(5);

    fn of(answer: ConsentAnswer) -> Self {
        Self { letters: answer.rest_of_word(), answered_at: Instant::now() }
    }

    fn is(&self, line: &str) -> bool {
        let line = line.trim().to_ascii_lowercase();
        !line.is_empty() && self.letters.starts_with(&line) && self.answered_at.elapsed() < Self::TYPED_WITHIN
    }
}

impl Question {
    pub(super) fn consent(&self) -> &Consent {
        &self.consent
    }

    pub(super) fn with_consent(self, consent: Consent) -> Self {
        Self { consent, ..self }
    }
}

impl Chat {
    /// Shows a new question, and removes one that is no longer open.
    pub(super) fn on_question(&mut self, agent_question: Option<&AgentQuestion>) -> Result<(), CliError> {
        if self.question.as_ref().map(|question| question.id)
            == agent_question.map(|agent_question| agent_question.id)
        {
            return Ok(());
        }
        self.question = None;
        let Some(AgentQuestion { id, about, always, .. }) = agent_question else { return Ok(()) };
        self.display.end_answer()?;
        let always = always.as_ref().map(|rule| one_line(&rule.to_string()));
        let place = match &**about {
            Subject::Call(judged) => self.place_of(&judged.call.id),
            _ => None,
        };
        let writes_first = matches!(&**about, Subject::Call(judged) if judged.staged.is_some());
        let asks = if writes_first { "write what is staged, then run this?" } else { "run this?" };
        let asks = format!("{asks}{}", of_several(place));
        let question = Question {
            id: *id,
            about: Arc::clone(about),
            consent: about_call(&asks, always.clone(), about),
            asks,
            choices: Vec::new(),
            always,
            why: None,
            commits: None,
        };
        // A commit that was just made may have left nothing that differs.
        self.refresh_status();
        self.question = Some(match &**about {
            Subject::Call(judged) => {
                let shown = self.say_judged(judged)?;
                self.shown.judged = shown.then(|| judged.call.id.clone());
                if !shown {
                    self.read_if_long(judged)?;
                }
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
            // The answer to a kind of question that this program does not know is no.
            _ => {
                self.reply(*id, Reply::No);
                return Ok(());
            }
        });
        Ok(())
    }

    /// Opens a call that takes more than half of the screen on a separate screen, from its first line. On the main
    /// screen the question is below its last line, so the first ones would have scrolled away.
    fn read_if_long(&mut self, judged: &JudgedCall) -> Result<(), CliError> {
        let call = Passage::Text(show::whole_call(&judged.call), Style::Strong);
        let why = Passage::Text(show::reasons(&judged.verdict), Style::Dim);
        self.display.read_if_long("what is asked about", vec![call, why])
    }

    /// Handles a key while a question is shown. Ctrl-C declines the call and interrupts the turn.
    pub(super) fn on_key_of_question(&mut self, event: &Event) -> Result<(), CliError> {
        let Some(question) = &mut self.question else { return Ok(()) };
        if question.why.is_some() && !is_interrupt(event) {
            return self.on_key_of_why(event);
        }
        if self.editor.is_read_all(event) {
            return self.read_conversation();
        }
        if self.editor.is_redraw(event) {
            return self.display.scroll_away(&self.fold_hint());
        }
        match question.consent.handle(Instant::now(), event) {
            Some(answer) => {
                self.rest_of_answer = is_letter(event).then(|| RestOfAnswer::of(answer));
                self.on_answer(answer, is_interrupt(event))
            }
            None => Ok(()),
        }
    }

    /// Whether a line is only the rest of an answer, as the `es` of a `yes` whose `y` has answered already.
    pub(super) fn is_rest_of_answer(&mut self, line: &str) -> bool {
        self.rest_of_answer.take().is_some_and(|rest| rest.is(line))
    }

    /// Handles an answer that is typed as a line.
    pub(super) fn on_line_of_question(&mut self, line: &str) -> Result<(), CliError> {
        let Some(question) = &mut self.question else { return Ok(()) };
        if question.why.is_some() {
            let why = line.trim();
            if !why.is_empty() {
                return self.on_why(why.to_owned());
            }
            self.ask_again();
            return Ok(());
        }
        if let Some(answer) = question.consent.answer_in(Instant::now(), line) {
            return self.on_answer(answer, false);
        }
        let again = question.consent.spoken();
        self.display.say(&format!("No answer. The question stands: {again}"), Style::Plain)
    }

    /// Returns from the line for the reason to the question.
    fn ask_again(&mut self) {
        if let Some(question) = &mut self.question {
            question.why = None;
            question.consent = about_call(&question.asks, question.always.clone(), &question.about);
        }
    }

    fn on_answer(&mut self, answer: ConsentAnswer, interrupts: bool) -> Result<(), CliError> {
        let Some(question) = self.question.take() else { return Ok(()) };
        let about = Arc::clone(&question.about);
        match (&*about, answer) {
            (Subject::Call(judged), ConsentAnswer::Diff) => {
                let staged = judged.staged.as_ref().map(|staged| staged.changes());
                if let Some(changes) = judged.changes.as_ref().or(staged) {
                    let git = judged.staged.as_ref().filter(|_| judged.changes.is_none());
                    let git = git.and_then(|staged| staged.git());
                    self.show_changes("what would be written", changes, git, &ChangeSet::default())?;
                }
                let consent = about_call(&question.asks, question.always.clone(), &about);
                self.question = Some(question.with_consent(consent));
                Ok(())
            }
            (Subject::Call(judged), answer) => {
                let (reply, line) = match (answer, &question.always) {
                    (ConsentAnswer::Yes, _) => (Reply::Yes, "  yes".to_owned()),
                    (ConsentAnswer::Always, Some(rule)) => (
                        Reply::Always,
                        format!("  always: {rule}, until this session ends; /permissions lists it"),
                    ),
                    (ConsentAnswer::Why, _) => {
                        self.question = Some(question);
                        self.ask_why();
                        if self.display.uses_screen_reader() {
                            self.display.say(
                                "Why not? A line tells the model; Enter alone goes back.",
                                Style::Plain,
                            )?;
                        }
                        return Ok(());
                    }
                    _ => (Reply::No, "  no".to_owned()),
                };
                self.display.say(&line, Style::Dim)?;
                self.shown.diff |= judged.staged.is_some() && matches!(reply, Reply::Yes | Reply::Always);
                if interrupts {
                    // Interrupting the turn ends its question too.
                    let _ = self.agent.interrupt();
                } else {
                    self.reply(question.id, reply);
                }
                Ok(())
            }
            (_, ConsentAnswer::No) => self.decline(question.id),
            (Subject::Changes(_), ConsentAnswer::Yes | ConsentAnswer::Keep) => {
                let keeps = answer == ConsentAnswer::Keep;
                self.display
                    .say(if keeps { "  yes, and what is not kept otherwise" } else { "  yes" }, Style::Dim)?;
                self.shown.diff = true;
                self.reply(question.id, if keeps { Reply::Keep } else { Reply::Yes });
                Ok(())
            }
            (Subject::Changes(asks), _) => {
                self.show_asked(asks)?;
                self.question = Some(question.with_consent(about_work(asks)));
                Ok(())
            }
            (Subject::Commits { .. }, answer) => self.on_answer_about_commits(&question, answer),
            (_, answer) => self.on_choice(question, answer),
        }
    }

    /// Handles a key while the user writes why they decline. Esc leads back to the question.
    fn on_key_of_why(&mut self, event: &Event) -> Result<(), CliError> {
        let Some(question) = &mut self.question else { return Ok(()) };
        let Some(why) = &mut question.why else { return Ok(()) };
        if matches!(event, Event::Key(key) if key.code == KeyCode::Esc && key.kind != KeyEventKind::Release) {
            self.ask_again();
            return Ok(());
        }
        match why.handle(event) {
            Action::Submit(text) if self.is_rest_of_answer(&text) => {
                self.ask_why();
                Ok(())
            }
            Action::Submit(text) => self.on_why(text),
            _ => Ok(()),
        }
    }

    /// Opens an empty line for the reason.
    fn ask_why(&mut self) {
        if let Some(question) = &mut self.question {
            question.why = Some(LineEditor::default());
        }
    }

    fn on_why(&mut self, text: String) -> Result<(), CliError> {
        let Some(Question { id, .. }) = self.question.take() else { return Ok(()) };
        self.display.say(&format!("  no: {text}"), Style::Dim)?;
        self.reply(id, Reply::NoBecause(text));
        Ok(())
    }

    /// The place of a call among those of its answer that do more than read, if there are several.
    fn place_of(&mut self, id: &str) -> Option<(usize, usize)> {
        if !self.series.iter().any(|known| known == id) {
            let view = self.agent.view();
            let items = view
                .items
                .iter()
                .skip_while(|item| !matches!(&***item, Item::Call(call) if call.call.id == id));
            let calls = items.map_while(|item| match &**item {
                Item::Call(call) => Some(call),
                _ => None,
            });
            let waits = |call: &&CallItem| call.stage == CallStage::Generated && !calls::is_read(&call.call);
            self.series = calls.map(|call| &**call).filter(waits).map(|call| call.call.id.clone()).collect();
        }
        let place = self.series.iter().position(|known| known == id)?;
        (1 < self.series.len()).then_some((place + 1, self.series.len()))
    }

    /// Sends the answer. It has no effect if the question is no longer open.
    pub(super) fn reply(&self, question: QuestionId, reply: Reply) {
        let _ = self.agent.answer(question, reply);
    }

    /// Drops the work. Its prompt is put into the editor again, before a prompt that was to follow.
    pub(super) fn decline(&mut self, question: QuestionId) -> Result<(), CliError> {
        let then = if self.has_staged() { "it stays staged" } else { "what ran ahead is dropped" };
        self.display.say(&format!("  no: nothing was written, and {then}"), Style::Dim)?;
        self.reply(question, Reply::No);
        Ok(())
    }

    /// Runs the prompt of the work again.
    pub(super) fn rerun_prompt(&mut self, question: QuestionId) -> Result<(), CliError> {
        if self.has_staged() {
            return self.decline(question);
        }
        self.display.say("  again", Style::Dim)?;
        self.reply(question, Reply::Anew);
        Ok(())
    }
}

/// ` (1 of 3)` if there are several, else nothing.
pub(super) fn of_several(place: Option<(usize, usize)>) -> String {
    place.map(|(place, of)| format!(" ({place} of {of})")).unwrap_or_default()
}

/// The question about the changes of work.
pub(super) fn about_work(asks: &ApprovalRequest) -> Consent {
    let question = if changes_nothing(asks) { "take this?" } else { "write this?" };
    Consent::about_changes(question, asks.can_keep(), Instant::now())
}

/// Whether a yes changes neither a file nor the repository.
pub(super) fn changes_nothing(asks: &ApprovalRequest) -> bool {
    asks.changes().is_empty() && asks.git().is_none()
}

fn about_call(asks: &str, always: Option<String>, about: &Subject) -> Consent {
    let has_diff =
        matches!(about, Subject::Call(judged) if judged.changes.is_some() || judged.staged.is_some());
    Consent::about_call(asks, always, has_diff, Instant::now())
}

/// Whether a key is a letter, and not Esc or Ctrl-C, which answer too.
fn is_letter(event: &Event) -> bool {
    matches!(event, Event::Key(key) if matches!(key.code, KeyCode::Char(_)) && !key.modifiers.contains(KeyModifiers::CONTROL))
}

/// Whether the event is Ctrl-C.
pub(super) fn is_interrupt(event: &Event) -> bool {
    matches!(event, Event::Key(key) if key.kind != KeyEventKind::Release
        && key.code == KeyCode::Char('c')
        && key.modifiers.contains(KeyModifiers::CONTROL))
}
