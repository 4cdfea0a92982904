use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use headstart_budget::ledger::Outcome;
use headstart_budget::of_acceptance;
use headstart_speculation::{
    AcceptError, Acceptance, Accepted, Ending, Event, Events, Limit, Speculation, Status, Transcript, Turn,
};
use headstart_tool_gate::Reason;
use tokio::task::{JoinError, JoinHandle};

use super::taking::{Asked, Taken};
use super::{Chat, show};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::offered::is_about_git;
use crate::terminal::Style;

/// What the user waits for, or what waits for the user.
pub(super) enum Working {
    /// A turn in the foreground.
    Turn { turn: Arc<Turn>, events: Events, task: Task<Ending> },
    /// An accept, of work that may still be running.
    Accept { taken: Taken, task: Box<Task<Result<Acceptance, AcceptError>>> },
    /// Work that is taken, and about which the user is asked.
    Asked { taken: Taken, asked: Box<Asked> },
}

/// A task of the runtime, whose end is kept until all that it told before has been shown.
pub(super) struct Task<T> {
    handle: JoinHandle<T>,
    ended: Option<Result<T, JoinError>>,
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
            Self::Turn { events, task, .. } => match task.next(events).await {
                Ok(event) => Step::Event(event),
                Err(ended) => Step::TurnEnded(ended),
            },
            Self::Accept { taken, task } => match task.next(&mut taken.events).await {
                Ok(event) => Step::Event(event),
                Err(ended) => Step::AcceptEnded(Box::new(ended)),
            },
            Self::Asked { .. } => pending().await,
        }
    }

    /// An event that is there already.
    pub(super) fn told(&mut self) -> Option<Event> {
        let events = match self {
            Self::Turn { events, .. } => events,
            Self::Accept { taken, .. } | Self::Asked { taken, .. } => &mut taken.events,
        };
        events.next().now_or_never().flatten()
    }

    /// Stops the work; its end comes as a step.
    pub(super) fn interrupt(&self) {
        match self {
            Self::Turn { task, .. } => task.handle.abort(),
            Self::Accept { taken, .. } | Self::Asked { taken, .. } => taken.speculation.abort(),
        }
    }

    /// The work that the user has taken.
    pub(super) fn taken(&self) -> Option<&Taken> {
        match self {
            Self::Turn { .. } => None,
            Self::Accept { taken, .. } | Self::Asked { taken, .. } => Some(taken),
        }
    }

    pub(super) fn status(&self) -> String {
        match self {
            Self::Turn { .. } => "working (Ctrl-C interrupts)".into(),
            Self::Accept { .. } => "finishing what runs already (Ctrl-C interrupts)".into(),
            Self::Asked { .. } => "asks before it writes".into(),
        }
    }
}

impl<T: Send + 'static> Task<T> {
    pub(super) fn spawn(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self { handle: tokio::spawn(work), ended: None }
    }

    /// The next event, and when there is none left the end, once.
    async fn next(&mut self, events: &mut Events) -> Result<Event, Result<T, JoinError>> {
        event_or_end(events, &mut self.handle, &mut self.ended).await
    }
}

/// The next event of some work, and when there is none left its end. `ended` keeps the end: between the look for an event and the look at the
/// work, the work may tell its last words and be done.
async fn event_or_end<F: Future + Unpin>(
    events: &mut Events,
    work: &mut F,
    ended: &mut Option<F::Output>,
) -> Result<Event, F::Output> {
    if ended.is_none() {
        tokio::select! {
            biased;
            Some(event) = events.next() => return Ok(event),
            end = work => *ended = Some(end),
        }
    }
    match (events.next().now_or_never().flatten(), ended.take()) {
        (Some(event), end) => {
            *ended = end;
            Ok(event)
        }
        (None, Some(end)) => Err(end),
        (None, None) => pending().await,
    }
}

impl Chat {
    /// Begins a turn with a prompt of the user's, and what the model has to know first.
    pub(super) fn begin_with(&mut self, prompt: &str) -> Result<(), CliError> {
        let left_out = self.session.left_out();
        self.accounts.meter(|metering, now| metering.left_out(now, false, left_out));
        let transcript = self.session.open(prompt);
        let news = self.session.told();
        if !news.is_empty() {
            self.face.say(&news, Style::Dim)?;
        }
        self.begin(transcript);
        Ok(())
    }

    /// Begins a turn in the foreground.
    pub(super) fn begin(&mut self, transcript: Transcript) {
        if transcript.pending_call().is_none() {
            self.shown_call = None;
        }
        let (turn, events) = self.session.turn(transcript);
        let turn = Arc::new(turn);
        let running = Arc::clone(&turn);
        let task = Task::spawn(async move { running.run().await });
        self.working = Some(Working::Turn { turn, events, task });
    }

    pub(super) fn on_step(&mut self, step: Step) -> Result<(), CliError> {
        match step {
            Step::Event(event) => return self.tell(&event),
            Step::TurnEnded(ended) => {
                let Some(Working::Turn { turn, .. }) = self.working.take() else { return Ok(()) };
                let ending = ended.unwrap_or_else(|error| interrupted(&error));
                let interrupted = ending == Ending::Aborted;
                self.accounts.meter(|metering, now| metering.turn(now, &turn.cost(), interrupted));
                self.finish(turn.transcript(), &ending)?;
                if ending == Ending::Completed && self.queued.is_empty() {
                    self.ask_for_suggestion()?;
                }
            }
            Step::AcceptEnded(ended) => {
                let Some(Working::Accept { taken, .. }) = self.working.take() else { return Ok(()) };
                self.on_accept_ended(taken, *ended)?;
            }
        }
        if self.working.is_none() && std::mem::take(&mut self.interrupted) {
            self.unqueue();
        }
        if self.working.is_none()
            && let Some(next) = self.queued.pop_front()
        {
            self.on_submit(next)?;
        }
        Ok(())
    }

    fn on_accept_ended(
        &mut self,
        mut taken: Taken,
        ended: Result<Result<Acceptance, AcceptError>, JoinError>,
    ) -> Result<(), CliError> {
        let given_up = taken.speculation.status() == Status::Aborted;
        let ended = match ended {
            Ok(Ok(Acceptance::AsksFirst(asks))) if !given_up && self.face.is_terminal() => {
                return self.ask_before(taken, asks);
            }
            Ok(Ok(Acceptance::Conflict(conflicts))) if !given_up && self.face.is_terminal() => {
                return if is_about_git(&conflicts) {
                    self.ask_about_commits(taken, conflicts)
                } else {
                    self.ask_about_conflicts(taken, conflicts)
                };
            }
            ended => ended,
        };
        let (outcome, saved_ms) = decision(&taken, &ended);
        self.close_taken(&mut taken, outcome, saved_ms);
        if let Ok(Ok(Acceptance::Accepted(accepted))) = ended {
            return self.hand_over(taken, accepted);
        }
        self.drop_taken(taken, ended)
    }

    /// The user has the prompt run anew.
    pub(super) fn on_not_taken(
        &mut self,
        mut taken: Taken,
        ended: Result<Result<Acceptance, AcceptError>, JoinError>,
    ) -> Result<(), CliError> {
        let (outcome, saved_ms) = decision(&taken, &ended);
        self.close_taken(&mut taken, outcome, saved_ms);
        self.drop_taken(taken, ended)
    }

    fn drop_taken(
        &mut self,
        taken: Taken,
        ended: Result<Result<Acceptance, AcceptError>, JoinError>,
    ) -> Result<(), CliError> {
        self.close_steps(&taken.speculation, taken.above);
        self.on_not_accepted(&taken.speculation, ended)?;
        taken.speculation.abort();
        Ok(())
    }

    /// Whoever stopped a turn decides anew about what was to follow: it is in the prompt again, before what is typed there.
    pub(super) fn unqueue(&mut self) {
        if self.queued.is_empty() {
            return;
        }
        let typed = Some(self.editor.text().to_owned()).filter(|text| !text.is_empty());
        let lines: Vec<_> = self.queued.drain(..).chain(typed).collect();
        self.editor.replace(&lines.join("\n"));
        self.on_edited(true);
    }

    fn on_not_accepted(
        &mut self,
        speculation: &Speculation,
        ended: Result<Result<Acceptance, AcceptError>, JoinError>,
    ) -> Result<(), CliError> {
        self.face.end_line()?;
        let prompt = Transcript::new(speculation.prompt());
        let why = match ended {
            Ok(Ok(Acceptance::Conflict(conflicts))) => show::conflicts(&conflicts),
            Ok(Ok(Acceptance::Withdrawn { call, verdict })) => {
                format!("{} is not allowed any more: {}", call.name, verdict.detail)
            }
            Ok(Ok(Acceptance::Discarded)) => "it stopped at a call that needs your consent".to_owned(),
            Ok(Ok(_)) if speculation.status() == Status::Aborted => {
                self.finish(prompt, &Ending::Aborted)?;
                return self.face.say("nothing of the work ahead was applied", Style::Dim);
            }
            Ok(Ok(_)) => {
                // Nothing was done ahead: the prompt runs as if it had been typed.
                return self.begin_with(speculation.prompt());
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => return self.finish(prompt, &interrupted(&error)),
        };
        self.face.say(&why, Style::Removed)?;
        self.face.say("nothing of the work ahead was applied; running it anew", Style::Dim)?;
        self.begin_with(speculation.prompt())
    }

    /// The work ahead is the user's now; a turn goes on where it had stopped.
    fn hand_over(&mut self, taken: Taken, accepted: Accepted) -> Result<(), CliError> {
        let Taken { speculation, told, meter, above, .. } = taken;
        for event in &told {
            self.tell(event)?;
        }
        self.face.end_line()?;
        if !accepted.changes.is_empty() || accepted.git.is_some() {
            self.session.warm_views();
            let git = accepted.git.as_deref();
            self.face.say(&show::changes(&accepted.changes, &accepted.merged, git), Style::Added)?;
        }
        if let Some(line) = crate::output::stale_line(accepted.changed_since_view.len()) {
            self.face.say(&line, Style::Removed)?;
        }
        if let Some(note) = accepted.note() {
            self.session.note(note);
        }
        // Work that stopped at its first call saved nothing to speak of.
        if 1 < accepted.transcript.messages.len() {
            let saved = Duration::from_millis(accepted.time_saved_ms);
            self.tally.ahead += saved;
            let saved = saved.as_secs_f64();
            self.face.say(&format!("{saved:.1} s of this was done ahead"), Style::Dim)?;
        }
        match &accepted.ending {
            Ending::Completed => {
                self.finish(accepted.transcript, &Ending::Completed)?;
                self.await_next(speculation, meter, above);
                return Ok(());
            }
            // It would end a turn of the user's as well: whether to go on is for them to say.
            ending @ Ending::Exhausted { limit: Limit::Output } => {
                return self.finish(accepted.transcript, ending);
            }
            // What only the run ahead could find out, the question that follows does not say.
            Ending::Boundary { verdict } if is_of_the_run(verdict.reason) => {
                self.face.say(&format!("ahead it stopped there: {}", verdict.detail), Style::Dim)?;
            }
            Ending::Boundary { .. } => {}
            ending => {
                let why = show::ending(ending).unwrap_or_default();
                self.face
                    .say(&format!("the work ahead ended early ({why}); going on from there"), Style::Dim)?;
            }
        }
        self.begin(accepted.transcript);
        Ok(())
    }

    fn finish(&mut self, transcript: Transcript, ending: &Ending) -> Result<(), CliError> {
        self.face.end_turn(ending)?;
        for notice in self.holds.notices().into_iter().chain(self.session.notices()) {
            self.face.say(&notice, Style::Dim)?;
        }
        // Somebody who reads the screen has seen it; a script goes by the exit code.
        if !self.face.is_terminal() {
            self.last = if *ending == Ending::Completed { ExitStatus::Done } else { ExitStatus::Failed };
        }
        self.question = None;
        self.tally.turns += 1;
        self.session.conclude(transcript, ending);
        Ok(())
    }
}

/// What the ledger is told of an accept.
fn decision(taken: &Taken, ended: &Result<Result<Acceptance, AcceptError>, JoinError>) -> (Outcome, u64) {
    match ended {
        Ok(Ok(_)) | Err(_) if taken.speculation.status() == Status::Aborted => (Outcome::Aborted, 0),
        Ok(Ok(acceptance)) => match of_acceptance(acceptance) {
            (Outcome::Accepted, saved_ms) if taken.meter.joined => (Outcome::Joined, saved_ms),
            other => other,
        },
        _ => (Outcome::Failed, 0),
    }
}

/// A task that was stopped, or panicked: the turn is over where it was.
fn interrupted(error: &JoinError) -> Ending {
    if error.is_cancelled() {
        return Ending::Aborted;
    }
    Ending::failed("internal", format!("the turn broke off: {error}"))
}

/// Whether a call stopped for what it did, or could not do, where it ran.
fn is_of_the_run(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::NeedsHost | Reason::ChangedMeanwhile | Reason::ProtectedPath | Reason::WritesOutside
    )
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use futures::channel::mpsc;

    use super::*;

    #[tokio::test]
    async fn the_last_words_of_a_turn_come_before_its_end() {
        let said = |text: &str| Event::Text { text: text.to_owned() };
        let (sender, mut events) = mpsc::unbounded();
        // It speaks and ends after the events were looked for.
        let mut work = poll_fn(|_| {
            for text in ["First ", "answer."] {
                sender.unbounded_send(said(text)).unwrap();
            }
            Poll::Ready(7)
        });
        let mut ended = None;
        for expected in [Ok(said("First ")), Ok(said("answer.")), Err(7)] {
            assert_eq!(event_or_end(&mut events, &mut work, &mut ended).await, expected);
        }
    }
}
