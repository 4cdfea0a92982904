use std::pin::pin;

use futures::channel::oneshot;
use futures::{FutureExt, Stream, StreamExt, stream};
use headstart_forked_query::{ToolCall, ToolResult};
use headstart_toolbox::ContextItem;

use crate::clock::Clock;
use crate::event::EventSender;
use crate::lock::lock;
use crate::permit::{Cut, Permit, Permitted, Running, is_shell};
use crate::repeated::Repeated;
use crate::run::{Run, millis};
use crate::transcript::Ran;
use crate::{CallInput, Ending, Event, Limit};

/// The result of one of several calls that ran at the same time.
struct Done {
    /// The place of the call among them.
    place: usize,
    /// Whether the call ran; if not, it was refused.
    ran: bool,
    outcome: Result<Ran, Cut>,
}

impl Run<'_> {
    /// Runs the calls of the answer that have no result yet. Calls that only read run at the same time, up to the next
    /// call that may do more, which runs alone. So each call sees what the calls before it wrote, and nothing of those
    /// behind it.
    pub(crate) async fn run_pending_calls(&self) -> Option<Ending> {
        let mut telling = Telling { events: self.events, begun: None };
        let calls: Vec<ToolCall> = {
            let transcript = &mut lock(self.progress).transcript;
            transcript.settle(|call, result, items| telling.done(call, result, items));
            transcript.pending_calls().cloned().collect()
        };
        let mut left = &calls[..];
        while !left.is_empty() {
            match self.run_reads(left, &mut telling).await {
                Ok(done) => left = &left[done..],
                Err(cut) => return Some(cut.into()),
            }
            let Some((call, behind)) = left.split_first() else { break };
            if let Some(ending) = self.run_alone(call, &mut telling).await {
                return Some(ending);
            }
            left = behind;
        }
        None
    }

    /// Runs calls up to the first that may do more than read or that was made before, and returns how many. If a limit
    /// is reached, all calls before the one that reached it have their results, as if they had run one after the other.
    async fn run_reads(&self, calls: &[ToolCall], telling: &mut Telling<'_>) -> Result<usize, Cut> {
        let started = self.host.now();
        let mut counted_ms = 0;
        let mut done = 0;
        let mut reached: Option<(usize, Cut)> = None;
        let mut reads = pin!(self.reads(calls).buffer_unordered(self.limits.calls_at_once.max(1)));
        loop {
            let first_open = lock(self.progress).transcript.pending_call().cloned();
            if let (Some((place, cut)), Some(open)) = (&reached, &first_open)
                && calls[*place].id == open.id
            {
                return Err(cut.clone());
            }
            if let Some(call) = &first_open {
                telling.begin(call);
            }
            let Some(Done { place, ran, outcome }) = reads.next().await else { return Ok(done) };
            done += 1;
            self.tell_end(&calls[place].id, &outcome);
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
                    let tell = |call: &_, result: &_, items: &_| telling.done(call, result, items);
                    progress.transcript.resolve_and_tell(&calls[place].id, outcome, tell);
                }
                Err(cut) if reached.as_ref().is_none_or(|(before, _)| place < *before) => {
                    reached = Some((place, cut));
                }
                Err(_) => {}
            }
        }
    }

    /// The calls up to the first that may do more than read or that was made before. Each is judged when there is room
    /// for it to run.
    fn reads<'a>(&'a self, calls: &'a [ToolCall]) -> impl Stream<Item: Future<Output = Done> + Send> + Send {
        stream::unfold(0, move |place| async move {
            let call = calls.get(place)?;
            // How often a call was answered with the same is known only once all calls before it have their results.
            let is_again = calls[..place].iter().any(|made| made.name == call.name && made.args == call.args);
            if is_again || self.repeated(call) != Repeated::No {
                return None;
            }
            let permit = match self.permits.permit(call).await {
                Permit::Run(permitted) if permitted.only_reads() && !permitted.is_task(call) => Ok(permitted),
                Permit::Refuse(message) => Err(message),
                Permit::Run(_) | Permit::Ask(_) | Permit::Stop(_) => return None,
            };
            self.tell_policy(call);
            let run = async move {
                match permit {
                    Ok(permitted) => {
                        self.call(|| CallInput::Begun(call.id.clone()));
                        let running = self.permits.run(call, permitted);
                        // A command has a process of its own, and a single call makes no other call wait.
                        let in_place = is_shell(call) || calls.len() == 1;
                        let outcome = if in_place { running.await } else { self.beside(running).await };
                        Done { place, ran: true, outcome }
                    }
                    Err(message) => Done { place, ran: false, outcome: Ok(Ran::failed(message)) },
                }
            };
            Some((run, place + 1))
        })
    }

    /// The permit for a call; `None` if the run ends because the call goes in a circle.
    async fn permit(&self, call: &ToolCall) -> Option<Permit> {
        match self.repeated(call) {
            Repeated::No => Some(self.permits.permit(call).await),
            Repeated::Tell => Some(Permit::Refuse(Repeated::message())),
            Repeated::Ends => None,
        }
    }

    /// Whether a call has been made again and again, judged by the results so far.
    fn repeated(&self, call: &ToolCall) -> Repeated {
        let context = self.host.gate_context();
        let attended = self.permits.is_attended();
        Repeated::of(call, &lock(self.progress).transcript.messages, &context, attended)
    }

    async fn beside(&self, running: Running) -> Result<Ran, Cut> {
        let (send, receive) = oneshot::channel();
        // The receiver is gone only if the result is not needed any more.
        let work = running.map(|outcome| drop(send.send(outcome)));
        self.host.beside(work.boxed()).await;
        receive.await.unwrap_or_else(|_| Ok(Ran::failed("the call was given up")))
    }

    /// Runs one call while no other runs. It is judged now, when all calls before it are done.
    async fn run_alone(&self, call: &ToolCall, telling: &mut Telling<'_>) -> Option<Ending> {
        telling.begin(call);
        let Some(permit) = self.permit(call).await else {
            return Some(Ending::Exhausted { limit: Limit::Repeated });
        };
        self.tell_policy(call);
        let permit = match permit {
            Permit::Ask(asked) => self.ask_user(call, asked).await,
            permit => permit,
        };
        let outcome = match permit {
            Permit::Run(permitted) => {
                self.call(|| CallInput::Begun(call.id.clone()));
                let ran = if permitted.is_task(call) {
                    self.run_task(call).await
                } else {
                    let (ran, time) = self.timed(self.permits.run(call, permitted)).await;
                    lock(self.progress).cost.tool_ms += millis(time);
                    ran
                };
                lock(self.progress).cost.tool_calls += 1;
                match ran {
                    Ok(outcome) => outcome,
                    Err(cut) => {
                        self.call(|| CallInput::Stopped(call.id.clone()));
                        return Some(cut.into());
                    }
                }
            }
            Permit::Refuse(message) => Ran::failed(message),
            Permit::Stop(verdict) | Permit::Ask(Permitted { verdict, .. }) => {
                self.call(|| CallInput::Stopped(call.id.clone()));
                return Some(Ending::Boundary { verdict });
            }
        };
        // A call that was declined has ended already.
        self.tell_end(&call.id, &Ok(outcome.clone()));
        let tell = |call: &_, result: &_, items: &_| telling.done(call, result, items);
        lock(self.progress).transcript.resolve_and_tell(&call.id, outcome, tell);
        let is_up = self.clock.is_up() || self.clock_above.is_some_and(Clock::is_up);
        is_up.then_some(Ending::Exhausted { limit: Limit::Time })
    }
}

impl Run<'_> {
    /// Asks the user about a call, unless the call could not be done anyway.
    async fn ask_user(&self, call: &ToolCall, asked: Permitted) -> Permit {
        let prepared = match self.permits.prepare(call, &asked).await {
            Ok(prepared) => prepared,
            Err(message) => return Permit::Refuse(message),
        };
        self.call(|| CallInput::Asked(call.id.clone()));
        let asking = self.clock.ask(self.host, self.permits.ask(call, asked, prepared));
        let answer = match self.clock_above {
            Some(above) => above.ask(self.host, asking).await,
            None => asking.await,
        };
        if matches!(answer, Permit::Refuse(_)) {
            self.call(|| CallInput::Declined(call.id.clone()));
        }
        answer
    }

    /// If the states of calls are watched, tells which policy decides about a call.
    fn tell_policy(&self, call: &ToolCall) {
        if self.events.is_watched()
            && let Some(policy) = self.permits.deciding_policy(call)
        {
            self.call(|| CallInput::Decided { id: call.id.clone(), policy });
        }
    }

    fn tell_end(&self, id: &str, outcome: &Result<Ran, Cut>) {
        let input = match outcome {
            Ok(outcome) => CallInput::Ended { id: id.to_owned(), failed: outcome.is_failed() },
            Err(_) => CallInput::Stopped(id.to_owned()),
        };
        self.call(|| input);
    }
}

/// Tells of calls as if they ran one after the other: each is followed by its result, in the order of the answer. So a
/// screen need not know that some run at the same time.
struct Telling<'a> {
    events: &'a EventSender,
    /// The call that was told last and whose result was not told yet.
    begun: Option<String>,
}

impl Telling<'_> {
    fn begin(&mut self, call: &ToolCall) {
        if self.begun.as_ref() != Some(&call.id) {
            self.begun = Some(call.id.clone());
            self.events.send(Event::ToolCall { call: call.clone() });
        }
    }

    fn done(&mut self, call: &ToolCall, result: &ToolResult, items: &[ContextItem]) {
        self.begin(call);
        self.begun = None;
        self.events.send(Event::ToolResult { result: result.clone(), items: items.to_vec() });
    }
}
