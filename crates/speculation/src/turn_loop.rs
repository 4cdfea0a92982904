use std::collections::HashSet;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use headstart_forked_query::{
    CONTENT, FinishReason, Message, Model, ModelError, ModelEvent, ModelRequest, Opaque, Part,
    SuppressionReason, TokenEstimate, ToolCall, Usage, with_yields,
};
use headstart_git_ahead::GitChange;
use serde::Serialize;
use tracing::{Instrument, debug, debug_span, field, info, trace};

use crate::clock::Clock;
use crate::event::EventSender;
use crate::executor::CallExecutor;
use crate::failed_command::FailedSoFar;
use crate::left_out::LeftOutSoFar;
use crate::lock::lock;
use crate::repeated_words::{RepetitionWatch, remove_copies};
use crate::transcript::make_ids_unique;
use crate::view_times::ViewTimes;
use crate::{CallInput, CheckResult, Cost, Ending, Event, Host, Limit, Limits, Transcript};

/// Why a run ends whose model wrote a call as words.
const WRITTEN_CALL: &str = "the model wrote a call as text, and it was not run: only a whole call at the end of an answer is, outside of fences and \
quotes, with arguments that the tool takes; ask it to go on, or set tools = \"text\" for this model";

/// Why a run ends whose model only repeats itself.
const REPETITION: &str = "the model repeated itself without end and was cut off; what it said before stays";

/// What a run has done so far; it can be read while the run is at work, and after the run is dropped.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) transcript: Transcript,
    pub(crate) cost: Cost,
    /// What is known of the tokens of its requests, if they are limited and one was answered.
    pub(crate) token_estimate: Option<TokenEstimate>,
    /// Why there is no next suggestion, once that is known.
    pub(crate) no_next_reason: Option<SuppressionReason>,
    /// When commands in views saw the workspace.
    pub(crate) view_times: ViewTimes,
    /// What commands in views did to the repository.
    pub(crate) git: Option<GitChange>,
    /// What commands in views wrote that an accept does not bring.
    pub(crate) left_out: LeftOutSoFar,
    /// Commands in views that did not end well.
    pub(crate) failed: FailedSoFar,
    /// The result that the pending call would have: it ran, and what it changed was dropped.
    pub(crate) preview: Option<String>,
    /// The result of the project's own check.
    pub(crate) check: Option<CheckResult>,
    /// The calls that ran in sub-tasks of work ahead.
    pub(crate) task_calls: Vec<ToolCall>,
}

impl Progress {
    pub(crate) fn new(transcript: Transcript) -> Self {
        Self { transcript, ..Self::default() }
    }
}

/// Shared progress. The lock is held only briefly, and never while anything is awaited.
pub(crate) type SharedProgress = Arc<Mutex<Progress>>;

/// The loop that a speculation and a foreground turn share: ask the model, run its calls, ask again.
pub(crate) struct TurnLoop<'a> {
    pub(crate) model: &'a dyn Model,
    /// The conversation so far and everything else that is the same in every request of the run.
    pub(crate) base: &'a ModelRequest,
    /// What the same turn has done before, if the conversation was made shorter in its middle.
    pub(crate) earlier: &'a [Message],
    /// The ids of all calls in the conversation, including those that the requests leave out.
    pub(crate) call_ids: HashSet<String>,
    pub(crate) executor: &'a dyn CallExecutor,
    pub(crate) host: &'a dyn Host,
    pub(crate) limits: &'a Limits,
    pub(crate) progress: &'a Mutex<Progress>,
    pub(crate) events: &'a EventSender,
    pub(crate) clock: Clock,
    /// The clock of the run of which this one is a sub-task.
    pub(crate) clock_above: Option<&'a Clock>,
}

impl TurnLoop<'_> {
    /// Works until there is an ending. If the future is dropped earlier, the progress stays as it is, which is legal.
    pub(crate) async fn run_to_end(&self) -> Ending {
        let started = self.host.now();
        // A commit that has begun is not cut, because otherwise only some of its changes would be in the workspace.
        let commits = || self.executor.is_committing();
        let limited = self.clock.limit(self.host, self.limits.time, commits, self.run_loop()).await;
        let ending = limited.unwrap_or(Ending::Exhausted { limit: Limit::Time });
        let time = self.host.now().saturating_sub(started).saturating_sub(self.clock.paused_time());
        lock(self.progress).cost.work_ms += millis(time);
        let (code, error) = match &ending {
            Ending::Failed { code, error, .. } => (code.as_deref(), Some(error)),
            _ => (None, None),
        };
        info!(status = ?ending.status(), millis = millis(time), code, "the run ended");
        if let Some(error) = error {
            trace!(target: CONTENT, error, "why it failed");
        }
        ending
    }

    async fn run_loop(&self) -> Ending {
        let mut ids = self.call_ids.clone();
        ids.extend(lock(self.progress).transcript.call_ids());
        self.report_pending_calls();
        loop {
            if let Some(ending) = self.run_pending_calls().await {
                return ending;
            }
            if let Some(limit) = self.limit_before_asking() {
                return Ending::Exhausted { limit };
            }
            let request = self.next_request();
            if self
                .limits
                .window
                .is_some_and(|limit| limit.is_exceeded(&request, lock(self.progress).token_estimate))
            {
                return Ending::Exhausted { limit: Limit::Window };
            }
            let answer = match self.request_answer(&request).await {
                Ok(answer) => answer,
                Err(error) => return Ending::from(&error),
            };
            if let Some(ending) = self.receive(answer, &mut ids) {
                return ending;
            }
        }
    }

    pub(crate) fn limit_before_asking(&self) -> Option<Limit> {
        let progress = lock(self.progress);
        if progress.cost.turns >= self.limits.turns {
            return Some(Limit::Turns);
        }
        // An answer with calls adds two entries.
        if progress.transcript.messages.len() + 2 > self.limits.messages {
            return Some(Limit::Messages);
        }
        self.limits.spent(&progress.cost)
    }

    /// The next request: the conversation, and what the run has added to it.
    fn next_request(&self) -> ModelRequest {
        let mut request = self.base.clone();
        request.messages.extend_from_slice(&lock(self.progress).transcript.messages);
        request
    }

    /// Sends one request and reads its whole answer.
    async fn request_answer(&self, request: &ModelRequest) -> Result<ModelAnswer, ModelError> {
        let mut answer = ModelAnswer::default();
        let span = debug_span!("model", messages = request.messages.len(), tools = request.tools.len());
        let timed = self.timed(self.read_answer(request, &mut answer).instrument(span)).await;
        let (result, time) = timed;
        debug!(
            millis = millis(time),
            input_tokens = answer.usage.input_tokens,
            cached_input_tokens = answer.usage.cached_input_tokens,
            output_tokens = answer.usage.output_tokens,
            finish = answer.finish.map(field::debug),
            error = result.as_ref().err().map(ModelError::code),
            "the model answered"
        );
        trace!(target: CONTENT, parts = json(&answer.parts), "its answer");
        let mut progress = lock(self.progress);
        progress.cost.model_ms += millis(time);
        progress.cost.turns += 1;
        progress.cost.tokens += answer.usage;
        if let Some(limit) = self.limits.window {
            progress.token_estimate =
                Some(progress.token_estimate.unwrap_or(limit.token_estimate).after(request, answer.usage));
        }
        drop(progress);
        if result.is_err() {
            self.report_call(|| CallInput::AnswerCut);
        }
        result.map(|()| answer)
    }

    async fn read_answer(&self, request: &ModelRequest, answer: &mut ModelAnswer) -> Result<(), ModelError> {
        // Without the yields, a stream that is always ready would keep the clock and an abort waiting until its end.
        let mut stream = with_yields(self.model.stream(request).await?);
        let (mut words, mut thoughts) = (RepetitionWatch::default(), RepetitionWatch::default());
        while let Some(event) = stream.next().await {
            match event? {
                ModelEvent::Text(text) => {
                    self.events.send(Event::Text { text: text.clone() });
                    let period = words.push(&text);
                    answer.push_text(text);
                    if let Some(period) = period {
                        answer.remove_copies(period);
                        answer.cut_off();
                        break;
                    }
                }
                ModelEvent::Thought(thought) if thoughts.push(&thought).is_some() => {
                    answer.cut_off();
                    break;
                }
                ModelEvent::CallFragment { index, name, letters } => {
                    self.report_call(|| CallInput::Fragment { index, name, letters });
                }
                ModelEvent::ToolCall(call) => answer.parts.push(Part::ToolCall(call)),
                ModelEvent::Opaque(opaque) => answer.opaque = Some(opaque),
                ModelEvent::Usage(usage) => answer.usage = usage,
                ModelEvent::Finished(reason) => answer.finish = Some(reason),
                _ => {}
            }
        }
        match answer.finish {
            Some(_) => Ok(()),
            None => Err(ModelError::Cut { provider: "the model".into(), source: None }),
        }
    }

    /// Puts an answer into the transcript; returns an ending if the run is over with it.
    fn receive(&self, answer: ModelAnswer, ids: &mut HashSet<String>) -> Option<Ending> {
        let ending = self.add_answer(answer, ids);
        match &ending {
            Some(Ending::Exhausted { limit: Limit::Output } | Ending::Failed { .. }) => {
                self.report_call(|| CallInput::AnswerCut);
            }
            _ => self.report_pending_calls(),
        }
        ending
    }

    /// Tells which calls are to run.
    fn report_pending_calls(&self) {
        self.report_call(|| {
            CallInput::Answered(lock(self.progress).transcript.pending_calls().cloned().collect())
        });
    }

    /// Tells something that happens to calls.
    pub(crate) fn report_call(&self, input: impl FnOnce() -> CallInput) {
        self.events.report_call(|| millis(self.host.now()), input);
    }

    fn add_answer(&self, mut answer: ModelAnswer, ids: &mut HashSet<String>) -> Option<Ending> {
        let mut progress = lock(self.progress);
        match answer.finish {
            Some(FinishReason::Length) => {
                // The last call may be cut in the middle of its arguments, so no call is run.
                answer.parts.retain(|part| matches!(part, Part::Text { .. }));
                progress.transcript.answer(answer.into_parts());
                return Some(Ending::Exhausted { limit: Limit::Output });
            }
            Some(FinishReason::ContentFilter) => {
                return Some(Ending::failed("withheld", "the provider withheld the answer"));
            }
            _ => {}
        }
        if answer.is_cut_off {
            // Nobody knows what the calls before it were to be followed by, so none is run.
            answer.parts.retain(|part| matches!(part, Part::Text { .. }));
            if !answer.is_empty() {
                progress.transcript.answer(answer.into_parts());
            }
            return Some(Ending::failed("repetition", REPETITION));
        }
        if answer.is_empty() {
            return Some(Ending::failed("empty", "the model's answer was empty"));
        }
        if answer.finish == Some(FinishReason::WrittenCall) {
            progress.transcript.answer(answer.into_parts());
            return Some(Ending::failed("written_call", WRITTEN_CALL));
        }
        make_ids_unique(&mut answer.parts, ids);
        progress.transcript.answer(answer.into_parts());
        if progress.transcript.pending_call().is_none() {
            return Some(Ending::Completed);
        }
        self.limits.spent(&progress.cost).map(|limit| Ending::Exhausted { limit })
    }

    pub(crate) async fn timed<T>(&self, work: impl Future<Output = T>) -> (T, Duration) {
        let started = self.host.now();
        let output = work.await;
        (output, self.host.now().saturating_sub(started))
    }
}

/// The answer of the model, put together.
#[derive(Default)]
struct ModelAnswer {
    parts: Vec<Part>,
    /// What the model wants back with the parts.
    opaque: Option<Opaque>,
    usage: Usage,
    finish: Option<FinishReason>,
    /// Whether it was cut off, because it only repeated itself.
    is_cut_off: bool,
}

impl ModelAnswer {
    fn remove_copies(&mut self, period: usize) {
        if let Some(Part::Text { text }) = self.parts.last_mut() {
            remove_copies(text, period);
        }
    }

    /// Ends the answer before its stream does.
    fn cut_off(&mut self) {
        self.is_cut_off = true;
        // What its server would have counted is not known, for nobody waits for it.
        if self.usage == Usage::default() {
            self.usage = Usage::UNTOLD;
        }
        self.finish = Some(FinishReason::Stop);
    }

    fn push_text(&mut self, more: String) {
        match self.parts.last_mut() {
            Some(Part::Text { text }) => text.push_str(&more),
            _ => self.parts.push(Part::Text { text: more }),
        }
    }

    /// The parts of a message. What the model wants back comes first, so that it is there wherever the rest is cut.
    fn into_parts(mut self) -> Vec<Part> {
        if let Some(opaque) = self.opaque.take().filter(|_| !self.parts.is_empty()) {
            self.parts.insert(0, Part::Opaque(opaque));
        }
        self.parts
    }

    fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text { text } if text.trim().is_empty()))
    }
}

/// A value as it is shown in a log.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
