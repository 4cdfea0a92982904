//! `headstart chat`: a conversation in a terminal, with the next prompt suggested and run ahead.
//!
//! One loop waits for whatever comes first: a key, an event of the turn, the answer to a question for a suggestion, a
//! time to wake up. The turn, the suggestion query and the work ahead are tasks of the runtime; everything they say comes back here.

mod accounts;
mod ahead;
mod asking;
mod card;
mod command;
mod commits;
mod conflict;
mod face;
mod goodbye;
mod held_back;
mod offer;
mod opening;
mod show;
mod steps;
mod suggest;
mod taking;
mod turn;
mod waiting;

use std::collections::VecDeque;
use std::future::pending;
use std::time::{Duration, Instant};

use headstart_budget::ledger::Outcome;
use headstart_budget::policy::Mode;
use headstart_followup_state::{AcceptMethod, Config, Effect, Event as Followup, FollowupController};
use headstart_speculation::Event;
use tokio::sync::mpsc;

use crate::config::{Config as Settings, TabKey};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::host::{Ask, AskStep};
use crate::session::Session;
use crate::signals::Signals;
use crate::terminal::{Action, Input, InputEvent, LineEditor, Style, Turn};
pub(crate) use accounts::Accounts;
use ahead::Ahead;
use asking::Question;
pub(crate) use command::WHEN_SUGGESTED;
pub(crate) use face::Face;
pub(crate) use held_back::amount;
use offer::{Offers, next_told};
pub(crate) use opening::Opening;
use suggest::{Asked, answered};
use turn::{Step, Working};
pub(crate) use waiting::Holds;

/// What is told to stop has stopped long before.
const PATIENCE: Duration = Duration::from_secs(5);
/// A Tab so soon after the one that put the suggestion into the prompt may be the same key, held.
const SECOND_TAB: Duration = Duration::from_millis(400);

/// A chat and everything that is going on in it.
pub(crate) struct Chat {
    session: Session,
    settings: Settings,
    asks: mpsc::UnboundedReceiver<Ask>,
    asked_steps: mpsc::UnboundedReceiver<AskStep>,
    face: Face,
    editor: LineEditor,
    started: Instant,
    controller: FollowupController,
    wake_at: Option<u64>,
    request: u64,
    asked: Option<Asked>,
    accounts: Accounts,
    /// Suggestions that the controller is about to be told.
    incoming: Offers,
    offers: Offers,
    /// When a key put the suggestion into the prompt.
    inserted_at: Option<Instant>,
    working: Option<Working>,
    question: Option<Question>,
    /// The id of the call that was shown last.
    shown_call: Option<String>,
    /// Prompts that were sent while a turn was running.
    queued: VecDeque<String>,
    /// Whether the user stopped what is at work.
    interrupted: bool,
    last: ExitStatus,
    over: bool,
    holds: Holds,
    opening: Opening,
    tally: goodbye::Tally,
}

impl Chat {
    pub(crate) fn new(
        session: Session,
        settings: Settings,
        accounts: Accounts,
        asks: mpsc::UnboundedReceiver<Ask>,
        holds: Holds,
        face: Face,
    ) -> Self {
        let mut controller = FollowupController::new(Config::default());
        // Without a terminal nobody could press a key for a suggestion.
        let enabled = settings.suggestions && face.is_terminal() && accounts.metering().mode() != Mode::Off;
        let _ = controller.handle(0, Followup::Enabled { enabled });
        let asked_steps = session.asked_steps();
        Self {
            session,
            settings,
            asks,
            asked_steps,
            face,
            editor: LineEditor::new(Vec::new()),
            started: Instant::now(),
            controller,
            wake_at: None,
            request: 0,
            asked: None,
            accounts,
            incoming: Offers::default(),
            offers: Offers::default(),
            inserted_at: None,
            working: None,
            question: None,
            shown_call: None,
            queued: VecDeque::new(),
            interrupted: false,
            last: ExitStatus::Done,
            over: false,
            holds,
            opening: Opening::default(),
            tally: goodbye::Tally::default(),
        }
    }

    /// Talks until the user leaves. Whatever ends the chat, nothing that it began is left at work.
    pub(crate) async fn run(mut self, mut input: Input) -> Result<ExitStatus, CliError> {
        let ended = self.talk(&mut input).await.and_then(|()| self.say_goodbye());
        // A process that never ends must not keep the chat from ending.
        let _ = tokio::time::timeout(PATIENCE, self.stop()).await;
        ended.map(|()| self.last)
    }

    async fn talk(&mut self, input: &mut Input) -> Result<(), CliError> {
        let mut signals = Signals::new().map_err(CliError::Input)?;
        let mut input_ended = false;
        if self.face.is_terminal() {
            let mode = command::mode_name(self.settings.mode);
            let welcome =
                format!("headstart: {}, {mode} mode; /help lists the keys", self.session.model_name());
            self.face.say(&welcome, Style::Dim)?;
        }
        self.open()?;
        while !self.over {
            self.draw()?;
            // A pipe is read line by line, each when the one before is done.
            let joins = self.joins();
            let listens = !input_ended && (self.face.is_terminal() || self.working.is_none());
            tokio::select! {
                biased;
                signal = signals.next() => {
                    let what = "what was at work is gone, what was accepted stays".to_owned();
                    return Err(CliError::Signalled { signal, what });
                }
                event = input.next(), if listens => match event.map_err(CliError::Input)? {
                    Some(event) => self.on_input(event)?,
                    None => input_ended = true,
                },
                step = next_step(&mut self.working) => self.on_step(step)?,
                Some(ask) = self.asks.recv() => self.on_ask(ask)?,
                Some(ask) = self.asked_steps.recv() => self.on_ask_step(ask),
                () = next_told(&mut self.offers) => self.note_ended(),
                (request, answer) = answered(&mut self.asked) => self.on_suggestion(request, answer)?,
                news = self.holds.of_whom(joins).news() => self.on_wait(news)?,
                () = wake(self.started, self.wake_at) => {
                    self.wake_at = None;
                    self.followup(Followup::Wake);
                }
            }
            if let Some(trouble) = self.accounts.trouble() {
                self.face.say(&trouble, Style::Removed)?;
            }
            if input_ended && self.working.is_none() {
                self.over = true;
            }
        }
        Ok(())
    }

    /// Gives up all that is at work and waits until it is gone, the processes of its commands too.
    async fn stop(&mut self) {
        self.drop_asked();
        let running = self.offers.iter().filter_map(|offer| offer.work.as_ref());
        let running: Vec<_> = running.flat_map(Ahead::steps).map(|ahead| ahead.speculation.clone()).collect();
        self.settle(Outcome::Aborted);
        for speculation in running {
            speculation.finished().await;
        }
        if let Some(mut working) = self.working.take() {
            if let Working::Accept { taken, .. } | Working::Asked { taken, .. } = &mut working {
                self.close_taken(taken, Outcome::Aborted, 0);
                let above = taken.above.take();
                self.close_steps(&taken.speculation, above);
            }
            working.interrupt();
            if matches!(working, Working::Asked { .. }) {
                return;
            }
            while let Step::Event(_) = working.next().await {}
            if let Working::Turn { turn, .. } = &working {
                self.accounts.meter(|metering, now| metering.turn(now, &turn.cost(), true));
            }
        }
    }

    fn draw(&mut self) -> Result<(), CliError> {
        let status = match (&self.working, self.ahead()) {
            // The keys of the question are other ones.
            _ if self.question.is_some() => None,
            (Some(working), _) => Some(self.waits().unwrap_or_else(|| working.status())),
            (None, Some(ahead)) => Some(ahead.status()),
            (None, None) => None,
        };
        let question = self.question.as_ref().map(|question| &question.consent);
        self.face.draw(&self.editor, question, status.as_deref())
    }

    fn on_input(&mut self, event: InputEvent) -> Result<(), CliError> {
        let event = match event {
            InputEvent::Line(line) if line.trim().is_empty() => return Ok(()),
            InputEvent::Line(line) => return self.on_submit(line),
            InputEvent::Terminal(event) => event,
        };
        if self.question.is_some() {
            return self.on_key_of_question(&event);
        }
        if self.working.is_some() && asking::is_interrupt(&event) {
            // What is typed stays.
            return self.on_interrupt();
        }
        match self.editor.handle(&event) {
            // The next frame asks for the terminal's size itself.
            Action::None | Action::Resized(_) => {}
            Action::Inserted => self.on_edited(true),
            Action::Edited => self.on_edited(false),
            Action::Submit(text) => self.on_submit(text)?,
            Action::Tab => self.on_tab()?,
            Action::InsertGhost => self.insert_suggestion(),
            Action::TurnGhost(Turn::Next) => self.followup(Followup::NextCandidate),
            Action::TurnGhost(Turn::Previous) => self.followup(Followup::PreviousCandidate),
            Action::DismissGhost => self.followup(Followup::Dismiss),
            Action::Interrupt => self.on_interrupt()?,
            Action::EndOfInput => self.over = true,
        }
        Ok(())
    }

    /// Takes the suggestion and the work behind it; for whoever prefers that, first only puts it into the prompt.
    fn on_tab(&mut self) -> Result<(), CliError> {
        let Some(suggestion) = self.controller.visible().cloned() else { return Ok(()) };
        if self.settings.tab == TabKey::Insert {
            if !suggestion.is_same_as(self.editor.text()) {
                self.insert_suggestion();
                return Ok(());
            }
            // A key that is held is no second one.
            if self.inserted_at.is_some_and(|at| at.elapsed() < SECOND_TAB) {
                return Ok(());
            }
        }
        let effects = self.controller.handle(self.now(), Followup::accept(AcceptMethod::Tab));
        let is_taken = effects.iter().any(|effect| matches!(effect, Effect::Insert { .. }));
        self.act_on(effects, Outcome::Aborted);
        match if is_taken { self.editor.send() } else { None } {
            Some(prompt) => self.on_submit(prompt),
            None => Ok(()),
        }
    }

    /// Puts the suggestion into the prompt, as if the user had typed it.
    fn insert_suggestion(&mut self) {
        let Some(text) = self.controller.visible().map(ToString::to_string) else { return };
        self.editor.replace(&text);
        self.inserted_at = Some(Instant::now());
        self.followup(Followup::Edited { text });
        self.show_ghost();
    }

    fn on_interrupt(&mut self) -> Result<(), CliError> {
        match &self.working {
            Some(working) => {
                self.interrupted = true;
                working.interrupt();
            }
            None => self.face.say("Ctrl-D or /quit leaves.", Style::Dim)?,
        }
        Ok(())
    }

    fn on_submit(&mut self, text: String) -> Result<(), CliError> {
        let is_command = text.trim_start().starts_with('/');
        if is_command || self.working.is_some() {
            // The prompt is empty again, and what was suggested stays.
            self.followup(Followup::Edited { text: String::new() });
        }
        if let Some(command) = command::parse(text.trim()) {
            match command {
                Ok(command) => self.on_command(&command)?,
                Err(message) => self.face.say(&message, Style::Removed)?,
            }
            self.show_ghost();
            return Ok(());
        }
        if self.working.is_some() {
            self.face.say(&format!("next: {text}"), Style::Dim)?;
            self.queued.push_back(text);
            return Ok(());
        }
        if self.face.is_terminal() {
            self.face.say(&format!("\n> {text}"), Style::Strong)?;
        }
        self.choose(&text);
        let taken = self.offers.take(&text);
        self.settle(self.fate());
        self.forget_suggestion();
        if let Some(offer) = taken {
            match offer.work {
                Some(mut ahead) if self.session.has_to_tell() => {
                    // It ran ahead in the belief that what its user has undone is there.
                    self.close_work(&mut ahead, Outcome::Aborted);
                    ahead.speculation.abort();
                }
                Some(ahead) => return self.take(ahead),
                None => self.decided(&offer.id, Outcome::Accepted),
            }
        }
        self.begin_with(&text)
    }

    /// No suggestion, none to come, and no work ahead.
    fn forget_suggestion(&mut self) {
        self.followup(Followup::Clear);
        self.settle(Outcome::Aborted);
        self.drop_asked();
    }

    /// Shows what a turn does. The call at which the work ahead stopped is told once more by the turn that goes on
    /// with it.
    fn tell(&mut self, event: &Event) -> Result<(), CliError> {
        if let Event::ToolCall { call } = event
            && self.shown_call.replace(call.id.clone()).as_ref() == Some(&call.id)
        {
            return Ok(());
        }
        self.face.event(event)
    }
}

async fn next_step(working: &mut Option<Working>) -> Step {
    match working {
        Some(working) => working.next().await,
        None => pending().await,
    }
}

async fn wake(started: Instant, at: Option<u64>) {
    match at {
        Some(at) => tokio::time::sleep_until((started + Duration::from_millis(at)).into()).await,
        None => pending().await,
    }
}
