//! `headstart chat`: a conversation in a terminal, with the next prompt suggested and run ahead.
//!
//! One loop waits for whatever comes first: a key, an event of the turn, the answer to a question for a suggestion, a
//! time to wake up. The turn, the suggestion query and the work ahead are tasks of the runtime; everything they say comes back here.

mod ahead;
mod command;
mod face;
mod show;
mod turn;

use std::future::pending;
use std::time::Instant;

use futures::StreamExt;
use headstart_followup_state::{
    AcceptMethod, Config, Effect, Event as Followup, FollowupController, OutcomeLedger, RequestId, Suggestion,
};
use headstart_speculation::{Consent as Decision, Ending, Transcript};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::config::Config as Settings;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::host::Ask;
use crate::session::Session;
use crate::terminal::{Action, Answer, Consent, GhostKey, Input, InputEvent, LineEditor, Style};
use ahead::Ahead;
use command::Command;
pub(crate) use face::Face;
use turn::{Step, Working};

/// A chat and everything that is going on in it.
pub(crate) struct Chat {
    session: Session,
    settings: Settings,
    asks: mpsc::UnboundedReceiver<Ask>,
    face: Face,
    editor: LineEditor,
    started: Instant,
    controller: FollowupController,
    ledger: OutcomeLedger,
    wake_at: Option<u64>,
    request: u64,
    /// The answer to the last question for a suggestion, still to come.
    asked: Option<JoinHandle<(RequestId, Result<Suggestion, String>)>>,
    ahead: Option<Ahead>,
    working: Option<Working>,
    question: Option<(Ask, Consent)>,
    /// A prompt that was sent while a turn was running.
    queued: Option<String>,
    last: ExitStatus,
    over: bool,
}

impl Chat {
    pub(crate) fn new(
        session: Session,
        settings: Settings,
        asks: mpsc::UnboundedReceiver<Ask>,
        face: Face,
    ) -> Self {
        let mut controller = FollowupController::new(Config::default());
        // Without a terminal nobody could press a key for a suggestion.
        let enabled = settings.suggestions && face.is_terminal();
        let _ = controller.handle(0, Followup::Enabled { enabled });
        Self {
            session,
            settings,
            asks,
            face,
            editor: LineEditor::new(Vec::new()),
            started: Instant::now(),
            controller,
            ledger: OutcomeLedger::default(),
            wake_at: None,
            request: 0,
            asked: None,
            ahead: None,
            working: None,
            question: None,
            queued: None,
            last: ExitStatus::Done,
            over: false,
        }
    }

    /// Talks until the user leaves.
    pub(crate) async fn run(mut self, mut input: Input) -> Result<ExitStatus, CliError> {
        let mut input_ended = false;
        while !self.over {
            self.draw()?;
            // A pipe is read line by line, each when the one before is done.
            let listens = !input_ended && (self.face.is_terminal() || self.working.is_none());
            tokio::select! {
                biased;
                event = input.next(), if listens => match event.map_err(CliError::Input)? {
                    Some(event) => self.on_input(event)?,
                    None => input_ended = true,
                },
                Some(ask) = self.asks.recv() => self.on_ask(ask)?,
                step = next_step(&mut self.working) => self.on_step(step)?,
                told = next_told(&mut self.ahead) => {
                    if let Some(ahead) = &mut self.ahead {
                        ahead.hear(told);
                    }
                }
                (request, answer) = answered(&mut self.asked) => self.on_suggestion(request, answer),
                () = wake(self.started, self.wake_at) => {
                    self.wake_at = None;
                    self.followup(Followup::Wake);
                }
            }
            if input_ended && self.working.is_none() {
                self.over = true;
            }
        }
        self.drop_ahead();
        Ok(self.last)
    }

    fn draw(&mut self) -> Result<(), CliError> {
        let status = match (&self.working, &self.ahead) {
            (Some(working), _) => Some(working.status()),
            (None, Some(ahead)) => Some(ahead.status()),
            (None, None) => None,
        };
        let question = self.question.as_ref().map(|(_, question)| question);
        self.face.draw(&self.editor, question, status.as_deref())
    }

    fn on_input(&mut self, event: InputEvent) -> Result<(), CliError> {
        let event = match event {
            InputEvent::Line(line) if line.trim().is_empty() => return Ok(()),
            InputEvent::Line(line) => return self.on_submit(line),
            InputEvent::Terminal(event) => event,
        };
        if let Some((_, question)) = &self.question {
            if let crossterm::event::Event::Resize(columns, rows) = event {
                self.face.resize(crate::terminal::Size { columns, rows });
            }
            if let Some(answer) = question.handle(Instant::now(), &event) {
                self.on_answer(answer)?;
            }
            return Ok(());
        }
        match self.editor.handle(&event) {
            Action::None => {}
            Action::Inserted => self.on_typed(true),
            Action::Edited => self.on_typed(false),
            Action::Submit(text) => self.on_submit(text)?,
            Action::AcceptGhost(key) => self.followup(Followup::accept(match key {
                GhostKey::Tab => AcceptMethod::Tab,
                GhostKey::Right => AcceptMethod::Right,
            })),
            Action::DismissGhost => self.followup(Followup::Dismiss),
            Action::Interrupt => self.on_interrupt()?,
            Action::EndOfInput => self.over = true,
            Action::Resized(size) => self.face.resize(size),
        }
        Ok(())
    }

    /// Typing something else gives the work ahead up.
    fn on_typed(&mut self, typed: bool) {
        self.followup(Followup::Keystroke { typed });
        let text = self.editor.text();
        if self.ahead.as_ref().is_some_and(|ahead| ahead.inserted && text != ahead.speculation.prompt()) {
            self.drop_ahead();
        }
    }

    fn on_interrupt(&mut self) -> Result<(), CliError> {
        match &self.working {
            Some(working) => working.interrupt(),
            None => self.face.say("Ctrl-D or /quit leaves.", Style::Dim)?,
        }
        Ok(())
    }

    fn on_submit(&mut self, text: String) -> Result<(), CliError> {
        if let Some(command) = command::parse(text.trim()) {
            return match command {
                Ok(command) => self.on_command(&command),
                Err(message) => self.face.say(&message, Style::Removed),
            };
        }
        if self.working.is_some() {
            self.face.say(&format!("next: {text}"), Style::Dim)?;
            self.queued = Some(text);
            return Ok(());
        }
        if self.face.is_terminal() {
            self.face.say(&format!("\n> {text}"), Style::Strong)?;
        }
        let taken = self.ahead.take_if(|ahead| ahead.is_for(&text));
        self.followup(Followup::Clear);
        self.drop_ahead();
        self.asked = None;
        match taken {
            Some(ahead) => self.take(ahead)?,
            None => self.begin(Transcript::new(&text)),
        }
        Ok(())
    }

    fn on_command(&mut self, command: &Command) -> Result<(), CliError> {
        match command {
            Command::Help => self.face.say(command::HELP, Style::Plain),
            Command::Quit => {
                self.over = true;
                Ok(())
            }
            Command::Mode(mode) => {
                self.session.set_mode(*mode);
                self.face.say("the mode counts from now on, also for work that ran ahead", Style::Dim)
            }
            Command::Clear if self.working.is_some() => {
                self.face.say("a turn is running; Ctrl-C interrupts it", Style::Removed)
            }
            Command::Clear => {
                self.followup(Followup::Clear);
                self.drop_ahead();
                self.asked = None;
                self.session.reset();
                self.face.say("the conversation is forgotten", Style::Dim)
            }
            Command::Diff => {
                let diff =
                    self.ahead.as_ref().map(|ahead| ahead.speculation.changes().diff()).unwrap_or_default();
                if diff.is_empty() {
                    return self.face.say("nothing is staged", Style::Dim);
                }
                for line in diff.lines() {
                    let style = match line.as_bytes().first() {
                        Some(b'+') => Style::Added,
                        Some(b'-') => Style::Removed,
                        _ => Style::Dim,
                    };
                    self.face.say(line, style)?;
                }
                Ok(())
            }
        }
    }

    fn on_ask(&mut self, ask: Ask) -> Result<(), CliError> {
        self.face.end_line()?;
        self.face.say(&show::whole_call(&ask.call), Style::Strong)?;
        self.face.say(&format!("  {}", ask.verdict.detail), Style::Dim)?;
        if self.face.is_terminal() {
            self.question = Some((ask, Consent::new("run this?", Instant::now())));
            return Ok(());
        }
        // Nobody answers on a pipe: what is not allowed by the mode does not run.
        self.face
            .say("  declined: there is no terminal to ask on; --mode says what may run", Style::Removed)?;
        let _ = ask.answer.send(Decision::Decline);
        Ok(())
    }

    fn on_answer(&mut self, answer: Answer) -> Result<(), CliError> {
        let Some((ask, _)) = self.question.take() else { return Ok(()) };
        let (decision, told) = match answer {
            Answer::Yes => (Decision::Run, "  yes"),
            Answer::No => (Decision::Decline, "  no"),
        };
        // The turn may have been interrupted meanwhile; then nobody waits for the answer.
        let _ = ask.answer.send(decision);
        self.face.say(told, Style::Dim)
    }

    fn on_suggestion(&mut self, request: RequestId, answer: Result<Suggestion, String>) {
        self.followup(match answer {
            Ok(suggestion) => Followup::Suggested { request, suggestion: Some(suggestion) },
            Err(reason) => Followup::Suppressed { request, reason },
        });
    }

    /// Tells the controller, and does what it asks for.
    fn followup(&mut self, event: Followup) {
        let now = self.now();
        for effect in self.controller.handle(now, event) {
            match effect {
                Effect::Show { suggestion } => {
                    self.editor.set_ghost(Some(suggestion.as_str().to_owned()));
                }
                Effect::Hide => {
                    self.editor.set_ghost(None);
                }
                Effect::Insert { text } => {
                    self.editor.insert(&text);
                    if let Some(ahead) = &mut self.ahead {
                        ahead.inserted = true;
                    }
                }
                Effect::WakeAt { at } => self.wake_at = Some(at),
                Effect::Record { outcome } => self.ledger.record(&outcome),
                Effect::StartSpeculation { suggestion } => self.start_ahead(&suggestion),
                Effect::AbandonSpeculation => self.drop_ahead(),
                _ => {}
            }
        }
    }

    fn start_ahead(&mut self, suggestion: &Suggestion) {
        self.drop_ahead();
        if !self.settings.speculation {
            return;
        }
        self.request += 1;
        let id = format!("chat-{}", self.request);
        // A slash command is never run ahead; that is no error.
        if let Ok((speculation, events)) = self.session.speculate(id, suggestion.as_str()) {
            self.ahead = Some(Ahead::new(speculation, events));
        }
    }

    fn drop_ahead(&mut self) {
        if let Some(ahead) = self.ahead.take() {
            ahead.speculation.abort();
        }
    }

    /// Asks for a suggestion, in the background.
    fn ask_for_suggestion(&mut self) {
        if !self.controller.is_enabled() {
            return;
        }
        self.request += 1;
        let request = RequestId(self.request);
        self.followup(Followup::Requested { request });
        let query = self.session.suggestion_query();
        self.asked = Some(tokio::spawn(async move { (request, query.await) }));
    }

    /// The controller's clock.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn finished_turn(&mut self, transcript: Transcript, ending: &Ending) -> Result<(), CliError> {
        self.face.end_line()?;
        if let Some(text) = show::ending(ending) {
            self.face.say(&text, Style::Removed)?;
        }
        self.last = if *ending == Ending::Completed { ExitStatus::Done } else { ExitStatus::Failed };
        self.question = None;
        self.session.conclude(transcript, ending);
        Ok(())
    }
}

async fn next_step(working: &mut Option<Working>) -> Step {
    match working {
        Some(working) => working.next().await,
        None => pending().await,
    }
}

/// The next event of the work ahead; `None`, once, when it has ended.
async fn next_told(ahead: &mut Option<Ahead>) -> Option<headstart_speculation::Event> {
    match ahead {
        Some(ahead) if !ahead.ended => ahead.events.next().await,
        _ => pending().await,
    }
}

async fn answered(
    asked: &mut Option<JoinHandle<(RequestId, Result<Suggestion, String>)>>,
) -> (RequestId, Result<Suggestion, String>) {
    let Some(task) = asked else { return pending().await };
    let answer = task.await;
    *asked = None;
    match answer {
        Ok(answer) => answer,
        // The query panicked or was dropped with the runtime: there is no suggestion, and nothing else is wrong.
        Err(_) => pending().await,
    }
}

async fn wake(started: Instant, at: Option<u64>) {
    match at {
        Some(at) => tokio::time::sleep_until((started + std::time::Duration::from_millis(at)).into()).await,
        None => pending().await,
    }
}
