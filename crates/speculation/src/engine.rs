use std::sync::{Arc, Mutex};

use headstart_forked_query::{
    BackgroundModel, CONTENT, Message, Model, ModelRequest, TokenEstimate, ToolSchema,
};
use headstart_overlay_fs::{
    ChangeSet, CommitOptions, Conflict, ContentHash, Overlay, Quota, StaleReads, Workspace, WorkspacePath,
};
use headstart_tool_gate::{AheadWrites, Gate, GateContext};
use headstart_toolbox::Toolbox;
use tracing::{Instrument, info, info_span, trace};

use crate::accept::accept;
use crate::clock::Clock;
use crate::event::EventSender;
use crate::executor::{
    CallExecutor, CallTools, CommitFlag, ForegroundExecutor, SpeculativeExecutor, StagedExecutor,
};
use crate::known_contents::KnownContents;
use crate::lock::lock;
use crate::shadow::ViewRunner;
use crate::transcript::call_ids;
use crate::turn_loop::{Progress, TurnLoop, json};
use crate::{
    AcceptAnswers, AcceptError, Acceptance, AtBoundary, Cost, Ending, Events, Finished, Freshness, Host,
    Limits, Origin, Staged, Staging, Status, Transcript,
};

/// Everything with which a speculation and a foreground turn run. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    /// The model that background work uses, and its name: the main model, or a fast one.
    pub background: BackgroundModel,
    /// The tools that run here. A call of any other tool that the conversation offers is a boundary.
    pub toolbox: Toolbox,
    /// The real tree. All runs read it; only an accept and foreground turns write it.
    pub workspace: Arc<dyn Workspace>,
    /// Judges every call.
    pub gate: Arc<Gate>,
    /// The clock, the rules in force, and the user.
    pub host: Arc<dyn Host>,
    /// What a speculation may spend.
    pub limits: Limits,
}

impl Engine {
    /// Accepts what another process speculated; see [`accept`].
    ///
    /// If steps build on each other, the lower one must be accepted first.
    pub async fn accept(&self, finished: &Finished) -> Result<Acceptance, AcceptError> {
        self.accept_with(finished, &AcceptAnswers::default()).await
    }

    /// As [`accept`](Self::accept), with what the user answered after the previous accept.
    pub async fn accept_with(
        &self,
        finished: &Finished,
        answers: &AcceptAnswers,
    ) -> Result<Acceptance, AcceptError> {
        let stopped = finished.ending.status() == Status::Boundary;
        if stopped && self.host.at_boundary() == AtBoundary::Discard {
            return Ok(Acceptance::Discarded);
        }
        let (context, options) = (self.host.gate_context(), self.host.commit_options());
        self.accept_under(finished, answers, &context, (options, self.host.freshness())).await
    }

    /// Accepts under these rules.
    async fn accept_under(
        &self,
        finished: &Finished,
        answers: &AcceptAnswers,
        context: &GateContext,
        (options, freshness): (CommitOptions, Freshness),
    ) -> Result<Acceptance, AcceptError> {
        let kept = answers.keeps().then(|| finished.with_kept());
        let finished = kept.as_ref().unwrap_or(finished);
        let changed = match finished.viewed_ms {
            Some(moment) if finished.has_results() => {
                let changed = self.host.changed_since(moment).await;
                self.without_restored(changed, &finished.changes).await
            }
            _ => Vec::new(),
        };
        if !changed.is_empty() && freshness == Freshness::Require {
            return Ok(Acceptance::Conflict(changed.into_iter().map(Conflict::stale_read).collect()));
        }
        let accepted = accept(finished, answers, &*self.workspace, &self.gate, context, options)
            .instrument(info_span!("accept", id = finished.id))
            .await;
        let outcome = accepted.as_ref().map_or("error", Acceptance::name);
        info!(id = finished.id, paths = finished.changes.changes.len(), outcome, "an accept ended");
        let mut acceptance = accepted?;
        if let Acceptance::Accepted(accepted) = &mut acceptance {
            accepted.changed_since_view = changed;
        }
        Ok(acceptance)
    }

    /// These paths without files that have the content again with which the work began, because an accept of it was
    /// taken back, say.
    async fn without_restored(&self, changed: Vec<WorkspacePath>, work: &ChangeSet) -> Vec<WorkspacePath> {
        let mut differ = Vec::new();
        for path in changed {
            let base = work.changes.iter().find(|change| change.path == path);
            let base = base.and_then(|change| change.base_content.as_ref()).map(|base| ContentHash::of(base));
            let read = work.reads.iter().find(|read| read.path == path).and_then(|read| read.content);
            let is_restored = match base.or(read) {
                Some(known) => {
                    self.workspace.read(&path).await.is_ok_and(|now| ContentHash::of(&now) == known)
                }
                None => false,
            };
            if !is_restored {
                differ.push(path);
            }
        }
        differ
    }

    /// Whether turns of the user are staged here, under the rules in force now.
    pub fn stages_turns(&self) -> bool {
        match self.host.staging() {
            Staging::Off => false,
            Staging::On => true,
            Staging::Auto => self.host.gate_context().views && self.toolbox.views().tier().is_some(),
        }
    }

    /// Writes what turns have staged, under the rules in force now, with its journal, as work ahead is accepted. What
    /// a turn only read, or its commands saw, may have changed since; that is no conflict, as in a turn that writes each
    /// call.
    pub async fn write_staged(
        &self,
        staged: &Staged,
        answers: &AcceptAnswers,
    ) -> Result<Acceptance, AcceptError> {
        let Some(finished) = staged.finished() else { return Ok(Acceptance::Nothing) };
        let context = GateContext { ahead_writes: AheadWrites::Ask, ..self.host.gate_context() };
        let options = self.host.commit_options();
        let options = CommitOptions {
            stale_reads: StaleReads::Warn,
            repeated: options.repeated || staged.is_restored(),
            ..options
        };
        let acceptance = self.accept_under(&finished, answers, &context, (options, Freshness::Tell)).await?;
        if matches!(acceptance, Acceptance::Accepted(_)) {
            // Nothing is awaited between the commit and this, so that nobody can be cut in between.
            staged.written();
        }
        Ok(acceptance)
    }

    /// A turn in the foreground over what was staged before: edits are staged, commands run in views, and the user is
    /// asked in between only about a call that a view cannot give what it wants. What is staged is written before that
    /// call. Everything else waits for [`write_staged`](Self::write_staged).
    pub fn staged_turn(
        &self,
        model: Arc<dyn Model>,
        request: ModelRequest,
        transcript: Transcript,
        limits: Limits,
        staged: &Staged,
    ) -> (Turn, Events) {
        let (events, receiver) = self.turn_events();
        let tools = CallTools { stages_turns: true, ..self.call_tools(&request, &events, &limits) };
        let foreground = ForegroundExecutor {
            base: Arc::new(staged.clone()) as _,
            ..self.foreground_executor(Arc::new(tools), limits.staged)
        };
        let executor = StagedExecutor::new(self.clone(), foreground, staged.clone());
        let turn = Turn {
            staged: Some(staged.clone()),
            ..self.turn_of((model, request, transcript), &limits, events, Box::new(executor))
        };
        (turn, receiver)
    }

    /// A turn in the foreground: the user is asked about what the mode does not allow, and every call's changes are in
    /// the workspace before the next call. A file that was saved after the turn had read or written it is not replaced,
    /// and `write_file` replaces none of which the conversation does not show all that is in it now
    /// ([`KnownFile`](headstart_toolbox::KnownFile)): the model is told to read it again.
    ///
    /// `request` has the conversation before the turn. `transcript` is new, or the result of an accept: its pending
    /// call is asked about and run first, without asking the model again.
    pub fn turn(
        &self,
        model: Arc<dyn Model>,
        request: ModelRequest,
        transcript: Transcript,
        limits: Limits,
    ) -> (Turn, Events) {
        let (events, receiver) = self.turn_events();
        let executor = self.foreground_executor(self.tools(&request, &events, &limits), limits.staged);
        (self.turn_of((model, request, transcript), &limits, events, Box::new(executor)), receiver)
    }

    fn turn_events(&self) -> (EventSender, Events) {
        EventSender::channel(self.host.reports_call_states().then_some(Origin::Turn))
    }

    fn foreground_executor(&self, tools: Arc<CallTools>, quota: Quota) -> ForegroundExecutor {
        ForegroundExecutor {
            tools,
            workspace: Arc::clone(&self.workspace),
            base: Arc::clone(&self.workspace) as _,
            quota,
            committing: CommitFlag::default(),
            known_contents: KnownContents::default(),
        }
    }

    fn turn_of(
        &self,
        (model, request, transcript): (Arc<dyn Model>, ModelRequest, Transcript),
        limits: &Limits,
        events: EventSender,
        executor: Box<dyn CallExecutor>,
    ) -> Turn {
        let progress = Mutex::new(Progress::new(transcript));
        let (host, earlier) = (Arc::clone(&self.host), Vec::new());
        Turn { model, request, earlier, executor, staged: None, host, limits: *limits, progress, events }
    }

    pub(crate) fn speculative_executor(
        &self,
        request: &ModelRequest,
        overlay: &Arc<Overlay>,
        view_runner: ViewRunner,
        events: &EventSender,
    ) -> SpeculativeExecutor {
        SpeculativeExecutor {
            tools: self.tools(request, events, &self.limits),
            overlay: Arc::clone(overlay),
            view_runner: Arc::new(view_runner),
            attended: false,
        }
    }

    /// The tools that a model is offered in the approval mode in force now: none in
    /// [`ApprovalMode::Chat`](headstart_tool_gate::ApprovalMode::Chat).
    pub fn offered_tools(&self) -> Vec<ToolSchema> {
        let mode = self.host.gate_context().mode;
        if mode.offers_tools() { self.toolbox.schemas() } else { Vec::new() }
    }

    /// The tools for a run. A model that sees little at once is given less at once.
    fn tools(&self, request: &ModelRequest, events: &EventSender, limits: &Limits) -> Arc<CallTools> {
        Arc::new(self.call_tools(request, events, limits))
    }

    fn call_tools(&self, request: &ModelRequest, events: &EventSender, limits: &Limits) -> CallTools {
        CallTools {
            toolbox: self.toolbox.clone(),
            offered: request.tools.clone(),
            gate: Arc::clone(&self.gate),
            host: Arc::clone(&self.host),
            limits: self.limits.tools.for_window(limits.window.map_or(u64::MAX, |window| window.tokens)),
            events: events.clone(),
            task: None,
            stages_turns: false,
        }
    }
}

/// A foreground turn. What it has done so far can be read while it runs and after it was interrupted.
#[must_use = "nothing happens until it runs"]
pub struct Turn {
    model: Arc<dyn Model>,
    request: ModelRequest,
    earlier: Vec<Message>,
    executor: Box<dyn CallExecutor>,
    staged: Option<Staged>,
    host: Arc<dyn Host>,
    limits: Limits,
    progress: Mutex<Progress>,
    events: EventSender,
}

impl Turn {
    /// Continues a turn that did this before its conversation was made shorter, so that a call that it made again and
    /// again is still known.
    pub fn after(self, earlier: Vec<Message>) -> Self {
        Self { earlier, ..self }
    }

    /// Runs the turn to its end, at which the events end too. Dropping the future interrupts the turn: the request is
    /// cancelled, and [`transcript`](Self::transcript) has what was done.
    ///
    /// [`Limits::time`] never cuts a commit, but dropping the future during a commit does. What is left then depends on
    /// the workspace ([`Workspace::commit`]), and the call stays pending. A host whose commits take time should
    /// interrupt a turn only when that does no harm, or have its workspace commit in a separate task.
    pub async fn run(&self) -> Ending {
        let run = TurnLoop {
            model: &*self.model,
            base: &self.request,
            earlier: &self.earlier,
            call_ids: call_ids(&self.request.messages),
            executor: &*self.executor,
            host: &*self.host,
            limits: &self.limits,
            progress: &self.progress,
            events: &self.events,
            clock: Clock::default(),
            clock_above: None,
        };
        let span = info_span!("turn");
        let begins = || json(&lock(&self.progress).transcript.messages);
        span.in_scope(|| trace!(target: CONTENT, messages = begins(), "what it begins with"));
        let ending = run.run_to_end().instrument(span).await;
        if let Some(staged) = &self.staged {
            staged.note_said(&self.transcript());
            staged.keep(&*self.host, &self.events).await;
        }
        self.events.close();
        ending
    }

    /// What the turn adds to the conversation, as far as it has come.
    pub fn transcript(&self) -> Transcript {
        lock(&self.progress).transcript.clone()
    }

    /// What the turn has added after the first `known` entries ([`Transcript::said_since`]).
    pub fn said_since(&self, known: usize) -> Vec<Message> {
        lock(&self.progress).transcript.said_since(known)
    }

    /// What is known of the tokens of its requests; `None` if [`Limits::window`] sets no limit, or if nothing was
    /// answered.
    pub fn token_estimate(&self) -> Option<TokenEstimate> {
        lock(&self.progress).token_estimate
    }

    /// What the turn has cost so far.
    pub fn cost(&self) -> Cost {
        lock(&self.progress).cost
    }
}
