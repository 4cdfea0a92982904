use std::pin::pin;

use futures::channel::oneshot;
use futures::{FutureExt, Stream, StreamExt, stream};
use headstart_forked_query::{ToolCall, ToolResult};
use headstart_toolbox::{ContextItem, KnownFile};

use crate::clock::Clock;
use crate::event::EventSender;
use crate::executor::{CallDecision, CallFuture, CallPermit, StopReason, is_shell};
use crate::lock::lock;
use crate::repetition::Repetition;
use crate::transcript::CallResult;
use crate::turn_loop::{TurnLoop, millis};
use crate::{CallInput, Ending, Event, Limit};

/// The result of one of several calls that ran at the same time.
struct CallCompletion {
    /// The place of the call among them.
    index: usize,
    /// Whether the call ran; if not, it was refused.
    ran: bool,
    outcome: Result<CallResult, StopReason>,
}

impl TurnLoop<'_> {
    /// Runs the calls of the answer that have no result yet. Calls that only read run at the same time, up to the next
    /// call that may do more, which runs alone. So each call sees what the calls before it wrote, and nothing of those
    /// behind it.
    pub(crate) async fn run_pending_calls(&self) -> Option<Ending> {
        let mut events = SequentialEvents { events: self.events, open_call: None };
        let calls: Vec<ToolCall> = {
            let transcript = &mut lock(self.progress).transcript;
            transcript.settle(|call, result, items| events.done(call, result, items));
            transcript.pending_calls().cloned().collect()
        };
        let mut remaining = &calls[..];
        while !remaining.is_empty() {
            match self.run_reads(remaining, &mut events).await {
                Ok(done) => remaining = &remaining[done..],
                Err(reason) => return Some(reason.into()),
            }
            let Some((call, behind)) = remaining.split_first() else { break };
            if let Some(ending) = self.run_alone(call, &mut events).await {
                return Some(ending);
            }
            remaining = behind;
        }
        None
    }

    /// Runs calls up to the first that may do more than read or that was made before, and returns how many. If a limit
    /// is reached, all calls before the one that reached it have their results, as if they had run one after the other.
    async fn run_reads(
        &self,
        calls: &[ToolCall],
        events: &mut SequentialEvents<'_>,
    ) -> Result<usize, StopReason> {
        let started = self.host.now();
        let mut counted_ms = 0;
        let mut done = 0;
        let mut stopped_at: Option<(usize, StopReason)> = None;
        let mut reads = pin!(self.reads(calls).buffer_unordered(self.limits.calls_at_once.max(1)));
        loop {
            let first_open = lock(self.progress).transcript.pending_call().cloned();
            if let (Some((index, reason)), Some(open)) = (&stopped_at, &first_open)
                && calls[*index].id == open.id
            {
                return Err(reason.clone());
            }
            if let Some(call) = &first_open {
                events.begin(call);
            }
            let Some(CallCompletion { index, ran, outcome }) = reads.next().await else { return Ok(done) };
            done += 1;
            self.report_end(&calls[index].id, &outcome);
            let passed_ms = millis(self.host.now().saturating_sub(started));
            let mut progress = lock(self.progress);
            if ran {
                progress.cost.tool_calls += 1;
                // The time is wall time, however many calls ran in it, and counts up to the moment of a cut.
                progress.cost.tool_ms += passed_ms - counted_ms;
                counted_ms = passed_ms;
            }
            match outcome {
                Ok(outcome) => {
                    let report = |call: &_, result: &_, items: &_| events.done(call, result, items);
                    progress.transcript.resolve_and_report(&calls[index].id, outcome, report);
                }
                Err(reason) if stopped_at.as_ref().is_none_or(|(before, _)| index < *before) => {
                    stopped_at = Some((index, reason));
                }
                Err(_) => {}
            }
        }
    }

    /// The calls up to the first that may do more than read or that was made before. Each is judged when there is room
    /// for it to run.
    fn reads<'a>(
        &'a self,
        calls: &'a [ToolCall],
    ) -> impl Stream<Item: Future<Output = CallCompletion> + Send> + Send {
        stream::unfold(0, move |index| async move {
            let call = calls.get(index)?;
            // How often a call was answered with the same is known only once all calls before it have their results.
            let is_again = calls[..index].iter().any(|made| made.name == call.name && made.args == call.args);
            if is_again || self.repetition(call) != Repetition::None {
                return None;
            }
            let decision = match self.executor.decide(call).await {
                CallDecision::Run(permit) if permit.runs_beside_reads(call) => Ok(permit),
                CallDecision::Refuse(message) => Err(message),
                CallDecision::Run(_) | CallDecision::Ask(_) | CallDecision::Stop(_) => return None,
            };
            self.report_policy(call);
            let run = async move {
                match decision {
                    Ok(permit) => {
                        self.report_call(|| CallInput::Begun(call.id.clone()));
                        let running = self.executor.run(call, permit, KnownFile::default());
                        // A command has a process of its own, and a single call makes no other call wait.
                        let in_place = is_shell(call) || calls.len() == 1;
                        let outcome = if in_place { running.await } else { self.run_on_host(running).await };
                        CallCompletion { index, ran: true, outcome }
                    }
                    Err(message) => {
                        CallCompletion { index, ran: false, outcome: Ok(CallResult::failed(message)) }
                    }
                }
            };
            Some((run, index + 1))
        })
    }

    /// The permit for a call; `None` if the run ends because the call goes in a circle.
    async fn decide(&self, call: &ToolCall) -> Option<CallDecision> {
        match self.repetition(call) {
            Repetition::None => Some(self.executor.decide(call).await),
            Repetition::Warn => Some(CallDecision::Refuse(Repetition::message())),
            Repetition::End => None,
        }
    }

    /// Whether a call has been made again and again, judged by the results so far.
    fn repetition(&self, call: &ToolCall) -> Repetition {
        let context = self.host.gate_context();
        let attended = self.executor.is_attended();
        let progress = lock(self.progress);
        let messages = self.earlier.iter().chain(&progress.transcript.messages);
        Repetition::of(call, messages, &context, attended)
    }

    async fn run_on_host(&self, running: CallFuture) -> Result<CallResult, StopReason> {
        let (send, receive) = oneshot::channel();
        // The receiver is gone only if the result is not needed any more.
        let work = running.map(|outcome| drop(send.send(outcome)));
        self.host.run_concurrently(work.boxed()).await;
        receive.await.unwrap_or_else(|_| Ok(CallResult::failed("the call was given up")))
    }

    /// What the conversation shows of the file that a call would replace. A sub-task knows what it has seen itself.
    fn known_file(&self, call: &ToolCall) -> KnownFile {
        let workspace = self.host.gate_context().workspace;
        let so_far = &lock(self.progress).transcript.messages;
        KnownFile::of(call, self.base.messages.iter().chain(so_far), &workspace)
    }

    /// Runs one call while no other runs. It is judged now, when all calls before it are done.
    async fn run_alone(&self, call: &ToolCall, events: &mut SequentialEvents<'_>) -> Option<Ending> {
        events.begin(call);
        let Some(decision) = self.decide(call).await else {
            return Some(Ending::Exhausted { limit: Limit::Repeated });
        };
        self.report_policy(call);
        let mut decision = self.ask_if_needed(call, decision).await;
        let outcome = loop {
            match decision {
                CallDecision::Run(permit) => match self.run_permitted(call, permit).await {
                    Ok(outcome) => break outcome,
                    Err(StopReason::Boundary(verdict)) => {
                        let again = self.executor.after_boundary(call, *verdict).await;
                        decision = self.ask_if_needed(call, again).await;
                    }
                    Err(reason) => {
                        self.report_call(|| CallInput::Stopped(call.id.clone()));
                        return Some(reason.into());
                    }
                },
                CallDecision::Refuse(message) => break CallResult::failed(message),
                CallDecision::Stop(verdict) | CallDecision::Ask(CallPermit { verdict, .. }) => {
                    self.report_call(|| CallInput::Stopped(call.id.clone()));
                    return Some(Ending::Boundary { verdict });
                }
            }
        };
        // A call that was declined has ended already.
        self.report_end(&call.id, &Ok(outcome.clone()));
        let report = |call: &_, result: &_, items: &_| events.done(call, result, items);
        lock(self.progress).transcript.resolve_and_report(&call.id, outcome, report);
        let is_up = self.clock.is_up() || self.clock_above.is_some_and(Clock::is_up);
        is_up.then_some(Ending::Exhausted { limit: Limit::Time })
    }
}

impl TurnLoop<'_> {
    async fn ask_if_needed(&self, call: &ToolCall, decision: CallDecision) -> CallDecision {
        match decision {
            CallDecision::Ask(permit) => self.ask_for_consent(call, permit).await,
            decision => decision,
        }
    }

    async fn run_permitted(&self, call: &ToolCall, permit: CallPermit) -> Result<CallResult, StopReason> {
        self.report_call(|| CallInput::Begun(call.id.clone()));
        let ran = if permit.is_task(call) {
            self.run_task(call).await
        } else {
            let (ran, time) = self.timed(self.executor.run(call, permit, self.known_file(call))).await;
            let cost = &mut lock(self.progress).cost;
            cost.tool_ms += millis(time);
            cost.stopped_ms += if ran.is_err() { millis(time) } else { 0 };
            ran
        };
        lock(self.progress).cost.tool_calls += 1;
        ran
    }

    /// Asks the user about a call, unless the call could not be done anyway. A yes is to what they were shown: if the
    /// call would change something else by now, because they saved a file meanwhile, they are shown that and asked again.
    async fn ask_for_consent(&self, call: &ToolCall, mut permit: CallPermit) -> CallDecision {
        loop {
            let prepared = match self.executor.prepare(call, &permit, &self.known_file(call)).await {
                Ok(prepared) => prepared,
                Err(message) => return CallDecision::Refuse(message),
            };
            self.report_call(|| CallInput::ConsentAsked(call.id.clone()));
            let asking =
                self.clock.pause_during(self.host, self.executor.ask(call, permit, prepared.clone()));
            let answer = match self.clock_above {
                Some(above) => above.pause_during(self.host, asking).await,
                None => asking.await,
            };
            match answer {
                CallDecision::Run(agreed) => {
                    match self.executor.prepare(call, &agreed, &self.known_file(call)).await {
                        Ok(now) if now == prepared => return CallDecision::Run(agreed.to(prepared)),
                        // The call as it is now is prepared and shown above; if it cannot be done, that is its result.
                        _ => permit = agreed.asked_again(),
                    }
                }
                CallDecision::Refuse(_) => {
                    self.report_call(|| CallInput::Declined(call.id.clone()));
                    return answer;
                }
                _ => return answer,
            }
        }
    }

    /// If the states of calls are watched, tells which policy decides about a call.
    fn report_policy(&self, call: &ToolCall) {
        if self.events.reports_calls()
            && let Some(policy) = self.executor.deciding_policy(call)
        {
            self.report_call(|| CallInput::Decided { id: call.id.clone(), policy });
        }
    }

    fn report_end(&self, id: &str, outcome: &Result<CallResult, StopReason>) {
        let input = match outcome {
            Ok(outcome) => CallInput::Ended { id: id.to_owned(), failed: outcome.is_failed() },
            Err(_) => CallInput::Stopped(id.to_owned()),
        };
        self.report_call(|| input);
    }
}

/// Tells of calls as if they ran one after the other: each is followed by its result, in the order of the answer. So a
/// screen need not know that some run at the same time.
struct SequentialEvents<'a> {
    events: &'a EventSender,
    /// The call that was told last and whose result was not told yet.
    open_call: Option<String>,
}

impl SequentialEvents<'_> {
    fn begin(&mut self, call: &ToolCall) {
        if self.open_call.as_ref() != Some(&call.id) {
            self.open_call = Some(call.id.clone());
            self.events.send(Event::ToolCall { call: call.clone() });
        }
    }

    fn done(&mut self, call: &ToolCall, result: &ToolResult, items: &[ContextItem]) {
        self.begin(call);
        self.open_call = None;
        self.events.send(Event::ToolResult { result: result.clone(), items: items.to_vec() });
    }
}
