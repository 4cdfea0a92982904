use std::sync::Arc;

use futures::StreamExt;
use headstart_speculation::{AcceptError, Acceptance, Ending, Event, Events, Speculation, Transcript, Turn};
use tokio::task::{JoinError, JoinHandle};

use super::ahead::Ahead;
use super::{Chat, show};
use crate::error::CliError;
use crate::terminal::Style;

/// What the user waits for.
pub(super) enum Working {
    /// A turn in the foreground.
    Turn { turn: Arc<Turn>, events: Events, task: JoinHandle<Ending> },
    /// An accept, of work that may still be running.
    Accept { speculation: Speculation, events: Events, task: JoinHandle<Result<Acceptance, AcceptError>> },
}

/// What came of it.
pub(super) enum Step {
    Event(Event),
    TurnEnded(Result<Ending, JoinError>),
    AcceptEnded(Box<Result<Result<Acceptance, AcceptError>, JoinError>>),
}

impl Working {
    /// The next event, and after the last one the end. Nothing is lost when the future is dropped early.
    pub(super) async fn next(&mut self) -> Step {
        match self {
            Self::Turn { events, task, .. } => tokio::select! {
                biased;
                Some(event) = events.next() => Step::Event(event),
                ended = task => Step::TurnEnded(ended),
            },
            Self::Accept { events, task, .. } => tokio::select! {
                biased;
                Some(event) = events.next() => Step::Event(event),
                ended = task => Step::AcceptEnded(Box::new(ended)),
            },
        }
    }

    /// Stops the work; its end comes as a step.
    pub(super) fn interrupt(&self) {
        match self {
            Self::Turn { task, .. } => task.abort(),
            Self::Accept { speculation, .. } => speculation.abort(),
        }
    }

    pub(super) fn status(&self) -> String {
        match self {
            Self::Turn { .. } => "working (Ctrl-C interrupts)".into(),
            Self::Accept { .. } => "finishing what runs already (Ctrl-C interrupts)".into(),
        }
    }
}

impl Chat {
    /// Begins a turn in the foreground.
    pub(super) fn begin(&mut self, transcript: Transcript) {
        let (turn, events) = self.session.turn(transcript);
        let turn = Arc::new(turn);
        let running = Arc::clone(&turn);
        let task = tokio::spawn(async move { running.run().await });
        self.working = Some(Working::Turn { turn, events, task });
    }

    /// Takes the work that ran ahead: what it has told is shown at once, what is still to come as it comes.
    pub(super) fn take(&mut self, ahead: Ahead) -> Result<(), CliError> {
        for event in &ahead.told {
            self.face.event(event)?;
        }
        let speculation = ahead.speculation.clone();
        let task = tokio::spawn(async move { speculation.accept().await });
        self.working = Some(Working::Accept { speculation: ahead.speculation, events: ahead.events, task });
        Ok(())
    }

    pub(super) fn on_step(&mut self, step: Step) -> Result<(), CliError> {
        match step {
            Step::Event(event) => return self.face.event(&event),
            Step::TurnEnded(ended) => {
                let Some(Working::Turn { turn, .. }) = self.working.take() else { return Ok(()) };
                let ending = ended.unwrap_or_else(|error| interrupted(&error));
                self.finished_turn(turn.transcript(), &ending)?;
                if ending == Ending::Completed {
                    self.ask_for_suggestion();
                }
            }
            Step::AcceptEnded(ended) => {
                let Some(Working::Accept { speculation, .. }) = self.working.take() else { return Ok(()) };
                self.on_accepted(&speculation, *ended)?;
            }
        }
        if self.working.is_none()
            && let Some(next) = self.queued.take()
        {
            self.on_submit(next)?;
        }
        Ok(())
    }

    fn on_accepted(
        &mut self,
        speculation: &Speculation,
        ended: Result<Result<Acceptance, AcceptError>, JoinError>,
    ) -> Result<(), CliError> {
        self.face.end_line()?;
        let again = || Transcript::new(speculation.prompt());
        let accepted = match ended {
            Ok(Ok(Acceptance::Accepted(accepted))) => accepted,
            Ok(Ok(Acceptance::Conflict(conflicts))) => {
                self.face
                    .say(&format!("{}; running it anew", show::conflicts(&conflicts)), Style::Removed)?;
                self.begin(again());
                return Ok(());
            }
            Ok(Ok(Acceptance::Withdrawn { call, verdict })) => {
                let text =
                    format!("{} is not allowed any more ({}); running it anew", call.name, verdict.detail);
                self.face.say(&text, Style::Removed)?;
                self.begin(again());
                return Ok(());
            }
            Ok(Ok(_)) if speculation.status() != headstart_speculation::Status::Aborted => {
                // Nothing was done ahead: the prompt runs as if it had been typed.
                self.begin(again());
                return Ok(());
            }
            Ok(Ok(_)) => {
                return self.finished_turn(again(), &Ending::Aborted);
            }
            Ok(Err(error)) => {
                self.face.say(&format!("{error}; nothing was applied; running it anew"), Style::Removed)?;
                self.begin(again());
                return Ok(());
            }
            Err(error) => return self.finished_turn(again(), &interrupted(&error)),
        };
        if !accepted.changes.is_empty() {
            self.face.say(&show::changes(&accepted.changes), Style::Added)?;
        }
        let saved = std::time::Duration::from_millis(accepted.time_saved_ms).as_secs_f64();
        self.face.say(&format!("{saved:.1} s of this was done ahead"), Style::Dim)?;
        if accepted.ending != Ending::Completed {
            self.begin(accepted.transcript);
            return Ok(());
        }
        self.finished_turn(accepted.transcript, &Ending::Completed)?;
        self.await_next(speculation.clone());
        Ok(())
    }

    /// The suggestion after a speculation: it is there already, or on its way.
    fn await_next(&mut self, speculation: Speculation) {
        use headstart_followup_state::{Event as Followup, RequestId};
        if !self.controller.is_enabled() {
            return;
        }
        self.request += 1;
        let request = RequestId(self.request);
        self.followup(Followup::Requested { request });
        self.asked = Some(tokio::spawn(async move {
            let next = speculation.next().await;
            (request, next.ok_or_else(|| "empty".to_owned()))
        }));
    }
}

/// A task that was stopped, or panicked: the turn is over where it was.
fn interrupted(error: &JoinError) -> Ending {
    if error.is_cancelled() {
        return Ending::Aborted;
    }
    Ending::Failed { error: format!("the turn broke off: {error}") }
}
