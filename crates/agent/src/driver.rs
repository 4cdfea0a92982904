mod host;
mod panic_guard;
mod staged;
mod store_queue;
mod task;
mod work_listener;

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::channel::{mpsc, oneshot};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use headstart_budget::policy::Habits;
use headstart_followup_state::RequestId;
use headstart_forked_query::{
    BackgroundModel, CacheSafeParams, Guards, LOCAL_DEADLINE, Message, Model, Query, QueryAnswer, QueryError,
    Role, forked_query, generate_candidates, in_time,
};
use headstart_speculation::{
    AcceptError, Acceptance, Attachments, CallStage, CallState, Consent, Ending, Engine, Event, Events,
    Finished, PromptOrigin, Staged, Turn, UndoReport, UndoWatch,
};

use tracing::{debug, warn};

use self::host::{ConsentQuery, StartingChange};
pub(crate) use self::host::{HostQueries, connect_host};
use self::staged::StagedTasks;
use self::store_queue::StoreQueue;
use self::task::{Task, TaskError};
use self::work_listener::WorkListener;
use crate::conversation::preface;
use crate::core::{
    ConsentRequest, Core, Effect, Report, SummaryQuery, TITLE_PROMPT, TITLE_TOKENS, pause_before_question,
};
use crate::handle::Shared;
use crate::ports::{LedgerStore, Runtime, SessionStore};

/// Does what follows from what the user does: a future that ends with the conversation. If it is dropped earlier, turns
/// stop where they are, and the conversation is over.
#[must_use = "nothing happens until it is polled"]
pub struct Driver {
    shared: Arc<Shared>,
    engine: Engine,
    model: Arc<dyn Model>,
    runtime: Arc<dyn Runtime>,
    ledger: Arc<dyn LedgerStore>,
    session: Option<Arc<dyn SessionStore>>,
    undone: Arc<UndoWatch>,
    staged: StagedTasks,
    consent_queries: mpsc::UnboundedReceiver<ConsentQuery>,
    starting_calls: mpsc::UnboundedReceiver<StartingChange>,
    /// Calls and accepts that wait until the session has all that was told before.
    held_changes: Vec<StartingChange>,
    /// What waits for an answer of the user, by the number of the question.
    waiting_answers: BTreeMap<u64, oneshot::Sender<Consent>>,
    last_query: u64,
    /// A question that is told after the events of its turn.
    held_query: Option<ConsentQuery>,
    turn: Option<Foreground>,
    /// A running accept, and its result, which is told after the events of its work.
    accept: Option<Task<Result<Acceptance, AcceptError>>>,
    accept_ended: Option<Result<Acceptance, String>>,
    listeners: Vec<WorkListener>,
    query: Option<Task<Report>>,
    summary: Option<Task<Report>>,
    /// A summary that is written while the user reads. Nobody waits for it.
    summary_ahead: Option<Task<Report>>,
    /// A title that is asked for. Nobody waits for it, either.
    title: Option<Task<Report>>,
    opening: Option<BoxFuture<'static, Report>>,
    undo_check: Option<BoxFuture<'static, UndoReport>>,
    timer: Option<BoxFuture<'static, ()>>,
    mark_timer: Option<BoxFuture<'static, ()>>,
    /// The calls of the ledger and of the session that wait or run.
    ledger_queue: StoreQueue<Option<Habits>>,
    session_queue: StoreQueue<()>,
    /// Panics of the program around, in words.
    panics: mpsc::UnboundedReceiver<String>,
    /// Failures to keep or do something, in words, so that each is told once.
    reported_failures: BTreeSet<String>,
    /// Work that the runtime did not take, so the driver does it.
    unspawned: FuturesUnordered<BoxFuture<'static, ()>>,
    /// Work that was given up, until its processes are gone.
    ending_work: FuturesUnordered<BoxFuture<'static, Arc<Finished>>>,
}

/// A turn in the foreground.
struct Foreground {
    turn: Arc<Turn>,
    events: Events,
    task: Task<Ending>,
    /// How many entries of its transcript were reported.
    kept: usize,
    /// The end of the turn, which is told after all its events.
    ended: Option<Ending>,
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        engine: Engine,
        model: Arc<dyn Model>,
        runtime: Arc<dyn Runtime>,
        (ledger, session): (Arc<dyn LedgerStore>, Option<Arc<dyn SessionStore>>),
        (undone, staged): (Arc<UndoWatch>, Staged),
        queries: HostQueries,
    ) -> Self {
        Self {
            shared,
            engine,
            model,
            runtime,
            ledger,
            session,
            undone,
            staged: StagedTasks::new(staged),
            consent_queries: queries.consent_queries,
            starting_calls: queries.starting_calls,
            held_changes: Vec::new(),
            waiting_answers: BTreeMap::new(),
            last_query: 0,
            held_query: None,
            turn: None,
            accept: None,
            accept_ended: None,
            listeners: Vec::new(),
            query: None,
            summary: None,
            summary_ahead: None,
            title: None,
            opening: None,
            undo_check: None,
            timer: None,
            mark_timer: None,
            ledger_queue: StoreQueue::new("ledger", "what this conversation costs is not written down"),
            session_queue: StoreQueue::new("session", "this conversation is not kept"),
            panics: queries.panics,
            reported_failures: BTreeSet::new(),
            unspawned: FuturesUnordered::new(),
            ending_work: FuturesUnordered::new(),
        }
    }

    /// Does all of this until the conversation is over.
    pub async fn run(mut self) {
        loop {
            while let Some(effect) = self.shared.next_effect() {
                self.perform(effect);
            }
            let at_rest = self.is_at_rest();
            let is_over = at_rest && self.shared.has_ended();
            self.shared.wake_waiters(at_rest, is_over);
            if is_over {
                return;
            }
            if let Some(report) = poll_fn(|context| self.poll_report(context)).await {
                self.shared.with(|core| core.report(report));
            }
        }
    }

    /// Whether nothing is under way that the user would wait for.
    fn is_at_rest(&self) -> bool {
        self.turn.is_none()
            && self.accept.is_none()
            && self.accept_ended.is_none()
            && self.staged.is_at_rest()
            && self.opening.is_none()
            && self.summary.is_none()
            && self.ledger_queue.is_at_rest()
            && self.session_queue.is_at_rest()
            && self.ending_work.is_empty()
    }

    fn perform(&mut self, effect: Effect) {
        debug!(effect = effect.name(), "the conversation goes on");
        match effect {
            Effect::Open { prompt } => self.opening = Some(self.open_prompt(prompt)),
            Effect::StartTurn { request, earlier, transcript, kept, limits } => {
                let model = Arc::clone(&self.model);
                let (turn, events) = self.staged.turn(&self.engine, (model, *request), transcript, &limits);
                let turn = Arc::new(turn.after(earlier));
                let running = Arc::clone(&turn);
                let task = self.spawn(async move { running.run().await });
                self.turn = Some(Foreground { turn, events, task, kept, ended: None });
            }
            Effect::StopTurn => {
                if let Some(turn) = &self.turn {
                    turn.task.stop();
                }
            }
            Effect::Reply { ask, consent } => {
                if let Some(waits) = self.waiting_answers.remove(&ask) {
                    // If the turn has ended by now, nobody waits for the answer.
                    let _ = waits.send(consent);
                }
            }
            Effect::AskSuggestion { request, params, note, guards, candidates } => {
                let question = (params, note, guards, candidates);
                self.query = Some(self.ask_suggestion(request, question));
            }
            Effect::AwaitNext { request, accepted } => {
                self.query = Some(self.spawn(async move {
                    let next = accepted.next().await;
                    let why_none = accepted.no_next_reason();
                    Report::NextKnown { request, next, why_none }
                }));
            }
            Effect::LookUndone => {
                let undone = Arc::clone(&self.undone);
                let check = AssertUnwindSafe(async move { undone.undo_report().await }).catch_unwind();
                self.undo_check = Some(check.map(Result::unwrap_or_default).boxed());
            }
            Effect::UseModel(name) => self.engine.background.name = name,
            Effect::UseModels(models) => (self.model, self.engine.background) = *models,
            #[cfg(feature = "native")]
            Effect::UseTools(toolbox) => self.engine.toolbox = toolbox,
            Effect::DropQuery => give_up(&mut self.query),
            Effect::SumUp(query) => {
                let report = |answer, work_ms| Report::SummedUp { answer, work_ms };
                self.summary = Some(self.sum_up(*query, report));
            }
            Effect::SumUpAhead(query) => {
                let report = |answer, work_ms| Report::SummedUpAhead { answer, work_ms };
                self.summary_ahead = Some(self.sum_up(*query, report));
            }
            Effect::DropSummaryAhead => give_up(&mut self.summary_ahead),
            Effect::AskTitle { params } => self.title = Some(self.ask_title(*params)),
            Effect::DropTitle => give_up(&mut self.title),
            Effect::DropSummary => give_up(&mut self.summary),
            Effect::StartWork { id, preface, prompt, params, limits } => {
                let engine = Engine { limits, ..self.engine.clone() };
                // A slash command is never run ahead; that is no error.
                if let Ok((speculation, driver, events)) =
                    engine.start_on(self.staged.layer(), id, &params, &preface, &prompt)
                {
                    self.listeners.push(WorkListener::new(speculation.clone(), events));
                    self.shared.with(|core| core.report(Report::WorkStarted(speculation)));
                    // A panic of a port ends this work and nothing else.
                    self.spawn_boxed(AssertUnwindSafe(driver).catch_unwind().map(|_| ()).boxed());
                }
            }
            Effect::Accept { work, answers } => {
                let (kept, is_kept) = oneshot::channel();
                self.held_changes.push(kept);
                self.accept = Some(self.spawn(self.staged.accept(work, answers, is_kept)));
            }
            Effect::WriteStaged { answers } => {
                let write = self.staged.write(&self.engine, answers);
                self.staged.writing(self.spawn(write));
            }
            Effect::KeepStaged => self.staged.keep(&self.engine.host),
            Effect::Abort(work) => {
                work.abort();
                self.listeners.retain(WorkListener::is_wanted);
                self.ending_work.push(async move { work.finished().await }.boxed());
            }
            Effect::Keep(pending_writes) => {
                let ledger = Arc::clone(&self.ledger);
                self.ledger_queue.push(async move { ledger.append(pending_writes).await });
            }
            Effect::ReadHabits => {
                let ledger = Arc::clone(&self.ledger);
                self.ledger_queue.push(async move { Ok(ledger.habits().await) });
            }
            Effect::KeepSession(lines) => {
                if let Some(session) = self.session.clone() {
                    self.session_queue.push(async move { session.append(lines).await });
                }
            }
            Effect::WakeAt(at) => self.timer = Some(self.sleep_until(at)),
            Effect::LookMarkedAt(at) => self.mark_timer = Some(self.sleep_until(at)),
        }
    }

    /// The first report of all that is under way. Nothing is lost when the future around it is dropped.
    fn poll_report(&mut self, context: &mut Context<'_>) -> Poll<Option<Report>> {
        if self.shared.poll_effects(context).is_ready() {
            return Poll::Ready(None);
        }
        while let Poll::Ready(Some(())) = self.unspawned.poll_next_unpin(context) {}
        while let Poll::Ready(Some(_)) = self.ending_work.poll_next_unpin(context) {}
        if let Poll::Ready(report) = self.poll_turn(context) {
            return Poll::Ready(Some(report));
        }
        if let Poll::Ready(report) = self.poll_accept(context) {
            return Poll::Ready(Some(report));
        }
        if let Poll::Ready(report) = self.staged.poll(context) {
            return Poll::Ready(report);
        }
        if let Some(opening) = &mut self.opening
            && let Poll::Ready(report) = opening.poll_unpin(context)
        {
            self.opening = None;
            return Poll::Ready(Some(report));
        }
        if let Some(check) = &mut self.undo_check
            && let Poll::Ready(undo_report) = check.poll_unpin(context)
        {
            self.undo_check = None;
            return Poll::Ready(Some(Report::UndoFound(undo_report)));
        }
        if let Poll::Ready(report) = self.poll_runs(context) {
            return Poll::Ready(Some(report));
        }
        if let Some(query) = &mut self.query
            && let Poll::Ready(answer) = query.poll(context)
        {
            self.query = None;
            // A query that panicked gives no suggestion; nothing else is affected.
            return Poll::Ready(answer.ok());
        }
        if let Some(summary) = &mut self.summary
            && let Poll::Ready(answer) = summary.poll(context)
        {
            self.summary = None;
            let none = |error: TaskError| Report::SummedUp { answer: Err(error.into()), work_ms: 0 };
            return Poll::Ready(Some(answer.unwrap_or_else(none)));
        }
        if let Some(summary) = &mut self.summary_ahead
            && let Poll::Ready(answer) = summary.poll(context)
        {
            self.summary_ahead = None;
            let none = |error: TaskError| Report::SummedUpAhead { answer: Err(error.into()), work_ms: 0 };
            return Poll::Ready(Some(answer.unwrap_or_else(none)));
        }
        if let Some(title) = &mut self.title
            && let Poll::Ready(answer) = title.poll(context)
        {
            self.title = None;
            let none = |error: TaskError| Report::Titled { answer: Err(error.into()), work_ms: 0 };
            return Poll::Ready(Some(answer.unwrap_or_else(none)));
        }
        if let Poll::Ready(report) = self.poll_stores(context) {
            return Poll::Ready(report);
        }
        if let Poll::Ready(Some(call)) = self.starting_calls.poll_next_unpin(context) {
            self.held_changes.push(call);
            // The event of the call is told first, and kept.
            return Poll::Ready(None);
        }
        if self.session_queue.is_at_rest() {
            for change in self.held_changes.drain(..) {
                // If the turn is over by now, nobody waits.
                let _ = change.send(());
            }
        }
        if let Some(timer) = &mut self.timer
            && timer.poll_unpin(context).is_ready()
        {
            self.timer = None;
            return Poll::Ready(Some(Report::Wake));
        }
        if let Some(timer) = &mut self.mark_timer
            && timer.poll_unpin(context).is_ready()
        {
            self.mark_timer = None;
            return Poll::Ready(Some(Report::MarkedLong));
        }
        Poll::Pending
    }

    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<Report> {
        loop {
            if let Some(turn) = &mut self.turn
                && let Poll::Ready(Some(event)) = turn.events.poll_next_unpin(context)
            {
                let said = if has_said(&event) { turn.turn.said_since(turn.kept) } else { Vec::new() };
                turn.kept += said.len();
                return Poll::Ready(Report::TurnEvent { event, said });
            }
            if let Some(ConsentQuery { call, verdict, prepared, answer, always }) = self.held_query.take() {
                self.last_query += 1;
                self.waiting_answers.insert(self.last_query, answer);
                let request = ConsentRequest { ask: self.last_query, call, verdict, prepared, always };
                return Poll::Ready(Report::Asked(request));
            }
            if let Some(ending) = self.turn.as_mut().and_then(|turn| turn.ended.take())
                && let Some(Foreground { turn, .. }) = self.turn.take()
            {
                self.waiting_answers.clear();
                return Poll::Ready(Report::TurnEnded {
                    ending,
                    transcript: turn.transcript(),
                    cost: turn.cost(),
                    token_estimate: turn.token_estimate(),
                });
            }
            // The turn may have told something since its events were looked at above; that is told first.
            if let Poll::Ready(Some(ask)) = self.consent_queries.poll_next_unpin(context) {
                self.held_query = Some(ask);
            } else if let Some(turn) = &mut self.turn
                && let Poll::Ready(ended) = turn.task.poll(context)
            {
                turn.ended = Some(ended.unwrap_or_else(Into::into));
            } else {
                return Poll::Pending;
            }
        }
    }

    fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<Report> {
        if let Some(accept) = &mut self.accept
            && let Poll::Ready(ended) = accept.poll(context)
        {
            self.accept = None;
            self.accept_ended = Some(match ended {
                Ok(accepted) => accepted.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            });
        }
        if self.accept_ended.is_none() {
            return Poll::Pending;
        }
        if let Poll::Ready(report) = self.poll_runs(context) {
            return Poll::Ready(report);
        }
        let ended = self.accept_ended.take();
        ended.map_or(Poll::Pending, |ended| Poll::Ready(Report::Accepted(Box::new(ended))))
    }

    fn poll_runs(&mut self, context: &mut Context<'_>) -> Poll<Report> {
        for place in 0..self.listeners.len() {
            if let Poll::Ready(report) = self.listeners[place].poll(context) {
                return Poll::Ready(report);
            }
        }
        self.listeners.retain(|listener| !listener.is_over());
        Poll::Pending
    }

    fn poll_stores(&mut self, context: &mut Context<'_>) -> Poll<Option<Report>> {
        let host = &self.engine.host;
        let result = if let Poll::Ready(habits) = self.ledger_queue.poll(host, context) {
            habits.map(|habits| habits.map(Report::HabitsRead))
        } else if let Poll::Ready(result) = self.session_queue.poll(host, context) {
            result.map(|()| None)
        } else if let Poll::Ready(Some(error)) = self.panics.poll_next_unpin(context) {
            Err(error)
        } else {
            return Poll::Pending;
        };
        Poll::Ready(match result {
            Ok(report) => report,
            // Told once, because the next attempt would fail for the same reason.
            Err(error) => {
                warn!(error, "something could not be kept or done");
                self.reported_failures.insert(error.clone()).then_some(Report::Trouble(error))
            }
        })
    }

    /// Looks for what the user has undone in the workspace, and for what the model reads beside a prompt.
    fn open_prompt(&self, prompt: Option<(String, Box<CacheSafeParams>)>) -> BoxFuture<'static, Report> {
        let undone = Arc::clone(&self.undone);
        let (host, tree) = (Arc::clone(&self.engine.host), Arc::new(self.staged.layer().clone()) as _);
        let opening = async move {
            let attachments = match prompt {
                Some((prompt, params)) => {
                    host.prompt_attachments(&prompt, PromptOrigin::User, &params, &tree).await
                }
                None => Ok(Attachments::default()),
            };
            Report::Opened { undo_report: undone.undo_report().await, attachments }
        };
        let looked = AssertUnwindSafe(opening).catch_unwind().map(|looked| match looked {
            Ok(report) => report,
            Err(panic) => Report::Opened {
                undo_report: UndoReport::default(),
                attachments: Err(TaskError::of(&*panic).to_string()),
            },
        });
        looked.boxed()
    }

    fn ask_suggestion(
        &self,
        request: RequestId,
        (params, note, guards, candidates): (Box<CacheSafeParams>, Option<String>, Guards, usize),
    ) -> Task<Report> {
        let (background, host) = (self.engine.background.clone(), Arc::clone(&self.engine.host));
        let undone = Arc::clone(&self.undone);
        self.spawn(async move {
            if let Some(pause) = pause_before_question(&background) {
                host.sleep(pause).await;
            }
            let began = host.now();
            let undo_report = undone.undo_report().await;
            let preface = preface(note.as_deref(), &undo_report);
            let message = (!preface.is_empty()).then(|| Message::text(Role::User, preface));
            let asked = generate_candidates(&background, &params, message.as_slice(), guards, candidates);
            let answer = in_time(&background, asked, host.sleep(LOCAL_DEADLINE)).await;
            let work_ms = millis(host.now().saturating_sub(began));
            Report::QueryAnswered { request, undo_report, answer, work_ms }
        })
    }

    fn sum_up(
        &self,
        query: SummaryQuery,
        report: fn(Result<QueryAnswer, QueryError>, u64) -> Report,
    ) -> Task<Report> {
        let SummaryQuery { params, model, prompt, tokens } = query;
        let model = BackgroundModel::main(Arc::clone(&self.model), model);
        self.ask(model, params, prompt, u32::try_from(tokens).ok(), report)
    }

    fn ask_title(&self, params: CacheSafeParams) -> Task<Report> {
        let report = |answer, work_ms| Report::Titled { answer, work_ms };
        self.ask(self.engine.background.clone(), params, TITLE_PROMPT.to_owned(), Some(TITLE_TOKENS), report)
    }

    /// Asks a model for a text.
    fn ask(
        &self,
        model: BackgroundModel,
        params: CacheSafeParams,
        prompt: String,
        max_output_tokens: Option<u32>,
        report: fn(Result<QueryAnswer, QueryError>, u64) -> Report,
    ) -> Task<Report> {
        let host = Arc::clone(&self.engine.host);
        let began = host.now();
        self.spawn(async move {
            let schema = serde_json::Value::Null;
            let query = Query { after: &[], prompt: &prompt, schema, max_output_tokens, gives_up: false };
            let answer = forked_query(&model, &params, query).await;
            report(answer, millis(host.now().saturating_sub(began)))
        })
    }

    /// Ends at this time of the host's clock.
    fn sleep_until(&self, at: u64) -> BoxFuture<'static, ()> {
        let host = Arc::clone(&self.engine.host);
        let left = Duration::from_millis(at).saturating_sub(host.now());
        async move { host.sleep(left).await }.boxed()
    }

    fn spawn<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Task<T> {
        let (task, job) = Task::new(work);
        self.spawn_boxed(job);
        task
    }

    fn spawn_boxed(&self, work: BoxFuture<'static, ()>) {
        if let Some(work) = self.runtime.spawn(work) {
            self.unspawned.push(work);
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Some(turn) = &self.turn {
            turn.task.stop();
        }
        for listener in &self.listeners {
            listener.give_up();
        }
        self.shared.with(Core::abandon);
        self.shared.wake_waiters(true, true);
    }
}

impl From<TaskError> for Ending {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Stopped => Self::Aborted,
            TaskError::Panicked(_) => Self::failed("internal", format!("the turn broke off: {error}")),
        }
    }
}

/// Whether something was added to the turn's transcript, or is about to be done.
fn has_said(event: &Event) -> bool {
    let begins = |state: &CallState| matches!(state.stage, CallStage::Generated | CallStage::Calling);
    match event {
        Event::ToolCall { .. } | Event::ToolResult { .. } => true,
        Event::CallState(state) => begins(state),
        _ => false,
    }
}

fn give_up(task: &mut Option<Task<Report>>) {
    if let Some(task) = task.take() {
        task.stop();
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
