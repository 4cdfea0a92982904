use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{FutureExt, StreamExt};
use headstart_agent::Conversation;
use headstart_forked_query::{Guards, generate_suggestion};
use headstart_machine::error::CliError;
use headstart_machine::host::ConsentRequest;
use headstart_machine::output::call_title;
use headstart_machine::parts::ConversationParts;
use headstart_speculation::{
    Acceptance, Accepted, Consent, Ending, Engine, Event, Events, Finished, Speculation, Transcript, Turn,
};
use tokio::sync::mpsc;

use super::printer::{ProgressPrinter, millis};
use super::sample::{SampleProject, recording};
use super::{REQUEST, RunTiming};

/// The sample project, a conversation about it, and a simulated user.
pub(super) struct DemoSession {
    sample: SampleProject,
    parts: ConversationParts,
    conversation: Conversation,
    consent_requests: mpsc::UnboundedReceiver<ConsentRequest>,
    speed: f64,
    number: u32,
}

impl DemoSession {
    pub(super) async fn create(speed: f64) -> Result<Self, CliError> {
        let sample = SampleProject::create()?;
        let parts = headstart_machine::setup::demo_parts(&sample.root(), recording(), speed).await?;
        let (conversation, consent_requests) = (conversation(&parts), parts.host.consent_requests());
        Ok(Self { sample, parts, conversation, consent_requests, speed, number: 0 })
    }

    /// Runs a turn that the user waits for.
    pub(super) async fn foreground(
        &mut self,
        printer: &ProgressPrinter,
        prompt: &str,
    ) -> Result<Duration, CliError> {
        printer.say("you", prompt)?;
        self.finish_turn(printer, Transcript::new(prompt)).await
    }

    pub(super) async fn suggestion(&self) -> Result<String, CliError> {
        let (model, params) = (&self.parts.engine.background, self.conversation.params());
        match generate_suggestion(model, params, Guards::default()).await {
            Ok(generated) => Ok(generated.suggestions.best().to_string()),
            Err(none) => {
                Err(CliError::Demo(format!("the recording gave no suggestion: {}", none.reason.as_str())))
            }
        }
    }

    /// Shows a suggestion, runs the work ahead and presses Tab, after which files and conversation are there, and the
    /// next suggestion. If the work stopped at a call that needs consent, the turn continues with that call.
    pub(super) async fn tab(
        &mut self,
        printer: &ProgressPrinter,
        prompt: &str,
        reading: Duration,
    ) -> Result<(RunTiming, String), CliError> {
        let before = self.sample.hash()?;
        let began = Instant::now();
        let (speculation, mut events) = self.ahead(printer, prompt, reading).await?;
        while let Some(event) = events.next().await {
            printer.event("ahead", &event)?;
        }
        let finished = speculation.finished().await;
        printer.say("ahead", &summary(&finished))?;
        if self.sample.hash()? != before {
            return Err(CliError::Demo("a speculation changed the project before Tab".into()));
        }
        for line in finished.changes.diff().lines().filter(|line| line.starts_with(['+', '-', '@'])) {
            printer.say("", line)?;
        }
        let next = speculation.next().await;
        let pressed = Instant::now();
        // On a slow machine the user reads until the work is there.
        let reading = pressed - began;
        let accepted = take(speculation.accept().await?)?;
        let taken = pressed.elapsed();
        let changed = accepted.changes.iter().map(|change| change.path.to_string());
        let commits = accepted.git.as_ref().map(|git| git.summary());
        let changed: Vec<String> = changed.chain(commits).collect();
        let what = match changed.as_slice() {
            [] => "the work so far is yours".to_owned(),
            changed => format!("{} in the project", changed.join(", ")),
        };
        printer.say("Tab", &format!("{what} after {}", duration_text(taken)))?;
        let (done, next) = if accepted.ending == Ending::Completed {
            self.conversation.conclude(accepted.transcript, &accepted.ending);
            let next = next.ok_or_else(|| CliError::Demo("there was no next suggestion".into()))?;
            (taken, next.best().as_str().to_owned())
        } else {
            self.finish_turn(printer, accepted.transcript).await?;
            // What the work had stopped at has run as well.
            (pressed.elapsed(), self.suggestion().await?)
        };
        printer.say("suggest", &format!("{next}    [Tab]"))?;
        Ok((row(prompt, &finished, reading, done), next))
    }

    /// Lets the user type something else while the work runs.
    pub(super) async fn abort(
        &mut self,
        printer: &ProgressPrinter,
        prompt: &str,
        reading: Duration,
    ) -> Result<(), CliError> {
        let before = self.sample.hash()?;
        let (speculation, _) = self.ahead(printer, prompt, reading).await?;
        let staged = speculation.changes().summary().len();
        let pressed = Instant::now();
        speculation.abort();
        let gone = pressed.elapsed();
        printer.say(
            "you",
            &format!("type; {staged} staged file and the request are gone after {}", duration_text(gone)),
        )?;
        let after = self.sample.hash()?;
        if after != before {
            return Err(CliError::Demo("an aborted speculation changed the project".into()));
        }
        printer.say("check", &format!("project hash {before:016x} before, {after:016x} after"))?;
        Ok(())
    }

    /// Starts a speculation and shows it for as long as the user reads. Returns the events that are still to come.
    async fn ahead(
        &mut self,
        printer: &ProgressPrinter,
        prompt: &str,
        reading: Duration,
    ) -> Result<(Speculation, Events), CliError> {
        self.number += 1;
        let id = format!("demo-{}", self.number);
        let (speculation, driver, mut events) =
            self.parts.engine.start(id, self.conversation.params(), prompt)?;
        tokio::spawn(driver);
        let reading = reading.div_f64(self.speed);
        let until = tokio::time::sleep(reading);
        tokio::pin!(until);
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(event) => printer.event("ahead", &event)?,
                    None => break,
                },
                () = &mut until => return Ok((speculation, events)),
            }
        }
        until.await;
        Ok((speculation, events))
    }

    /// Runs a foreground turn to its end. The user consents to every call.
    async fn finish_turn(
        &mut self,
        printer: &ProgressPrinter,
        transcript: Transcript,
    ) -> Result<Duration, CliError> {
        let started = Instant::now();
        let (turn, mut events) = turn(&self.parts, &self.conversation, transcript);
        let mut said = String::new();
        let ending = {
            let run = turn.run();
            tokio::pin!(run);
            loop {
                tokio::select! {
                    biased;
                    Some(event) = events.next() => narrate(printer, &event, &mut said)?,
                    Some(ask) = self.consent_requests.recv() => {
                        printer.say("asks", &format!("run `{}`? yes", call_title(&ask.call)))?;
                        // The turn may have ended meanwhile, and then nothing waits for the answer.
                        let _ = ask.answer.send(Consent::Run);
                    }
                    ending = &mut run => break ending,
                }
            }
        };
        while let Some(event) = events.next().now_or_never().flatten() {
            narrate(printer, &event, &mut said)?;
        }
        flush(printer, &mut said)?;
        if ending != Ending::Completed {
            return Err(CliError::Demo(format!("the turn ended as {:?}", ending.status())));
        }
        self.conversation.conclude(turn.transcript(), &ending);
        Ok(started.elapsed())
    }
}

/// Runs the same prompts in the foreground on a separate project, to measure how long a user waits without speculation.
pub(super) async fn baseline(speed: f64) -> Result<Vec<(String, Duration)>, CliError> {
    let sample = SampleProject::create()?;
    let parts = headstart_machine::setup::demo_parts(&sample.root(), recording(), speed).await?;
    let (mut conversation, mut asks) = (conversation(&parts), parts.host.consent_requests());
    let agree = tokio::spawn(async move {
        while let Some(ask) = asks.recv().await {
            let _ = ask.answer.send(Consent::Run);
        }
    });
    let mut times = Vec::new();
    for prompt in [REQUEST, "add tests for top", "update the changelog", "commit and push"] {
        let started = Instant::now();
        let (turn, _events) = turn(&parts, &conversation, Transcript::new(prompt));
        let ending = turn.run().await;
        conversation.conclude(turn.transcript(), &ending);
        times.push((prompt.to_owned(), started.elapsed()));
    }
    agree.abort();
    Ok(times)
}

fn conversation(parts: &ConversationParts) -> Conversation {
    let Engine { toolbox, workspace, .. } = &parts.engine;
    Conversation::new(&parts.system, toolbox.schemas(), &parts.model_name, Arc::clone(workspace))
}

fn turn(parts: &ConversationParts, conversation: &Conversation, transcript: Transcript) -> (Turn, Events) {
    let ConversationParts { engine, model, .. } = parts;
    engine.turn(Arc::clone(model), conversation.request(), transcript, engine.limits)
}

fn take(acceptance: Acceptance) -> Result<Accepted, CliError> {
    match acceptance {
        Acceptance::Accepted(accepted) => Ok(accepted),
        other => Err(CliError::Demo(format!("the accept ended as {other:?}"))),
    }
}

fn row(prompt: &str, finished: &Finished, reading: Duration, done: Duration) -> RunTiming {
    RunTiming {
        prompt: prompt.to_owned(),
        work_ms: finished.cost.work_ms,
        reading_ms: millis(reading),
        tab_to_done_ms: done.as_secs_f64() * 1000.0,
        without_ms: 0,
    }
}

fn summary(finished: &Finished) -> String {
    let staged = finished.changes.summary().len();
    let cost = &finished.cost;
    match &finished.ending {
        Ending::Boundary { verdict } => format!("stopped at a boundary: {}", verdict.detail),
        Ending::Completed => {
            format!("done in {} ms: {} calls, {staged} changed file staged", cost.work_ms, cost.tool_calls)
        }
        other => format!("ended as {:?}", other.status()),
    }
}

fn narrate(printer: &ProgressPrinter, event: &Event, said: &mut String) -> Result<(), CliError> {
    if let Event::Text { text } = event {
        said.push_str(text);
        return Ok(());
    }
    flush(printer, said)?;
    printer.event("model", event)?;
    Ok(())
}

fn flush(printer: &ProgressPrinter, said: &mut String) -> Result<(), CliError> {
    if !said.trim().is_empty() {
        printer.say("model", said.trim())?;
    }
    said.clear();
    Ok(())
}

fn duration_text(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
