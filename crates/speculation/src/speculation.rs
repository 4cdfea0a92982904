use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::Shared;
use headstart_followup_state::Suggestions;
use headstart_forked_query::{CONTENT, CacheSafeParams, SuppressionReason};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, Overlay, Tree};
use tracing::{Instrument, debug, info, info_span, trace};

use crate::base_view::BaseView;
use crate::driver::{Driver, WorkSlot};
use crate::event::EventSender;
use crate::job::{JobSenders, SpeculationJob};
use crate::lock::lock;
use crate::turn_loop::{Progress, SharedProgress, millis};
use crate::{
    AcceptAnswers, AcceptError, Acceptance, Accepted, Cost, Ending, Engine, Events, Finished, Origin, Staged,
    StartError, Status, Transcript,
};

/// A prompt that runs ahead of the user. Cheap to clone; every clone is the same speculation.
#[must_use = "without the handle the work can be neither accepted nor aborted"]
#[derive(Clone)]
pub struct Speculation {
    shared: Arc<SpeculationState>,
}

struct SpeculationState {
    id: String,
    prompt: String,
    /// What the model was told before the prompt.
    note: String,
    engine: Engine,
    overlay: Arc<Overlay>,
    progress: SharedProgress,
    slot: Arc<WorkSlot>,
    finished: Shared<oneshot::Receiver<Arc<Finished>>>,
    next: Shared<oneshot::Receiver<Option<Suggestions>>>,
    started_ms: u64,
    accept_started: AtomicBool,
    /// Whether its changes are being committed, or are committed: an abort does not undo that.
    committing: AtomicBool,
    /// What turns have staged, if it stands on that.
    below: Option<Arc<BaseView>>,
}

impl SpeculationState {
    /// Forgets everything that was staged.
    fn forget(&self) {
        self.engine.workspace.forget(&self.overlay.change_set());
        self.overlay.discard();
    }
}

impl Speculation {
    /// It stands on `below`, or else on the workspace. The model is told `note` before the prompt.
    pub(crate) fn start(
        engine: &Engine,
        id: String,
        params: CacheSafeParams,
        (note, prompt): (&str, &str),
        below: Option<Arc<BaseView>>,
    ) -> Result<(Self, Driver, Events), StartError> {
        let prompt = prompt.trim();
        if prompt.is_empty() {
            return Err(StartError::Empty);
        }
        if prompt.starts_with('/') {
            return Err(StartError::Command { prompt: prompt.into() });
        }
        let base = match &below {
            Some(base_view) => Arc::clone(base_view) as Arc<dyn Tree>,
            None => Arc::clone(&engine.workspace) as Arc<dyn Tree>,
        };
        let overlay = Arc::new(Overlay::new(base, engine.limits.staged));
        let text = if note.is_empty() { prompt.to_owned() } else { format!("{note}\n\n{prompt}") };
        let progress = Arc::new(Mutex::new(Progress::new(Transcript::new(&text))));
        let (events, receiver) =
            EventSender::channel(engine.host.reports_call_states().then_some(Origin::Ahead));
        let (send_finished, finished) = oneshot::channel();
        let (send_next, next) = oneshot::channel();
        let work = SpeculationJob {
            id: id.clone(),
            engine: engine.clone(),
            params,
            prompt: prompt.into(),
            text,
            overlay: Arc::clone(&overlay),
            progress: Arc::clone(&progress),
            events,
            below: below.clone(),
        };
        let senders = JobSenders { finished: send_finished, next: send_next };
        let span = info_span!("work ahead", id);
        span.in_scope(|| {
            debug!(stands_on_staged = below.is_some(), "work ahead begins");
            trace!(target: CONTENT, prompt, "its prompt");
        });
        let slot = Arc::new(WorkSlot::new(work.run(senders).instrument(span).boxed()));
        let driver = Driver::new(Arc::clone(&slot));
        let state = SpeculationState {
            id,
            prompt: prompt.into(),
            note: note.into(),
            engine: engine.clone(),
            overlay,
            progress,
            slot,
            finished: finished.shared(),
            next: next.shared(),
            started_ms: millis(engine.host.now()),
            accept_started: AtomicBool::new(false),
            committing: AtomicBool::new(false),
            below,
        };
        Ok((Self { shared: Arc::new(state) }, driver, receiver))
    }

    /// The id that the host gave.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// The prompt that runs.
    pub fn prompt(&self) -> &str {
        &self.shared.prompt
    }

    /// What the model was told before the prompt ([`Engine::start_with_note`]).
    pub fn note(&self) -> &str {
        &self.shared.note
    }

    /// The state of the speculation.
    pub fn status(&self) -> Status {
        if self.is_aborted() {
            return Status::Aborted;
        }
        match self.shared.finished.clone().now_or_never() {
            Some(Ok(finished)) => finished.ending.status(),
            Some(Err(_)) => Status::Aborted,
            None => Status::Running,
        }
    }

    /// What it would add to the conversation so far.
    pub fn transcript(&self) -> Transcript {
        lock(&self.shared.progress).transcript.clone()
    }

    /// What it has cost so far, including the query for the next suggestion.
    pub fn cost(&self) -> Cost {
        lock(&self.shared.progress).cost
    }

    /// What it would change so far; nothing after an abort.
    pub fn changes(&self) -> ChangeSet {
        // If the abort came while the work was polled, the work may have staged something after it.
        if self.is_aborted() {
            return ChangeSet::default();
        }
        self.shared.overlay.change_set()
    }

    /// What it would change in the repository so far; nothing after an abort.
    pub fn git(&self) -> Option<GitChange> {
        if self.is_aborted() { None } else { lock(&self.shared.progress).git.clone() }
    }

    /// Waits for the end of the work. For an aborted speculation the record is empty.
    pub async fn finished(&self) -> Arc<Finished> {
        match self.shared.finished.clone().await {
            Ok(finished) if self.status() != Status::Aborted => finished,
            _ => Arc::new(self.aborted_result()),
        }
    }

    /// Waits for the suggestions for what comes after. There are none unless the speculation is completed, and only one
    /// unless [`Limits::candidates`](crate::Limits::candidates) asks for several.
    pub async fn next(&self) -> Option<Suggestions> {
        self.shared.next.clone().await.ok().flatten()
    }

    /// Why [`next`](Self::next) gave nothing, if the model was asked or a guard prevented the question.
    pub fn no_next_reason(&self) -> Option<SuppressionReason> {
        lock(&self.shared.progress).no_next_reason.clone()
    }

    /// Gives up the speculation: the model's request is dropped and staged files are forgotten, as if nothing had
    /// happened. Work that was accepted before stays.
    pub fn abort(&self) {
        info!(id = self.shared.id, "work ahead is given up");
        self.shared.slot.abort();
        if self.is_aborted() {
            self.shared.forget();
        }
    }

    fn is_aborted(&self) -> bool {
        self.shared.slot.is_aborted() && !self.shared.committing.load(Ordering::SeqCst)
    }

    /// Hands over the work: waits for it if it still runs, then commits its changes and returns its transcript. The
    /// rules in force now count.
    ///
    /// The suggestion for what comes after is part of the answer if it is there already; if not, [`next`](Self::next)
    /// gives it later. A conflict or a withdrawn permission changes nothing, and another accept may follow; an accept
    /// after a successful one is [`AcceptError::AlreadyAccepted`]. Work that stands on what turns have staged is accepted
    /// after that is written, otherwise the error is [`AcceptError::BaseNotAccepted`]. If it was written with other
    /// content, the usual rules notice it: what this work read or changed there and is different now is a conflict or is
    /// merged.
    ///
    /// If the future is dropped while it waits for the work, it has done nothing, and another accept may follow. If it
    /// is dropped during the commit, the result depends on the workspace
    /// ([`Workspace::commit`](headstart_overlay_fs::Workspace::commit)): all changes or none on disk and in memory,
    /// some of the changes with [`commit_through`](headstart_overlay_fs::commit_through); another accept then reports
    /// these as conflicts. Therefore spawn the future, and apply a timeout to waiting for its task. An
    /// [`abort`](Self::abort) never cuts a commit.
    ///
    /// Work that wrote in a mode which asks before a write ([`AheadWrites::Ask`](headstart_tool_gate::AheadWrites)) is
    /// not handed over by this: the answer is [`Acceptance::NeedsApproval`]. Once the user has agreed to what that
    /// shows, [`accept_with`](Self::accept_with) takes their answer.
    pub async fn accept(&self) -> Result<Acceptance, AcceptError> {
        self.accept_with(&AcceptAnswers::default()).await
    }

    /// As [`accept`](Self::accept), with what the user answered after the previous accept: their yes
    /// ([`Acceptance::NeedsApproval`]), and which side of each conflict is kept, or both with markers
    /// ([`Acceptance::Conflict`]). A path that was edited after they looked, or for which they chose nothing, is a
    /// conflict again. [`Accepted::note`](crate::Accepted::note) has the words for the model.
    pub async fn accept_with(&self, answers: &AcceptAnswers) -> Result<Acceptance, AcceptError> {
        if let Some(below) = self.shared.below.as_ref().filter(|below| !below.is_written())
            && self.status() != Status::Aborted
        {
            return Err(AcceptError::BaseNotAccepted { id: self.shared.id.clone(), below: below.id.clone() });
        }
        if self.shared.accept_started.swap(true, Ordering::AcqRel) {
            return Err(AcceptError::AlreadyAccepted { id: self.shared.id.clone() });
        }
        let guard = AcceptGuard { shared: &self.shared, armed: true };
        let waited_from = millis(self.shared.engine.host.now());
        let _ = self.shared.finished.clone().await;
        // An abort either comes before this, or sees it.
        self.shared.committing.store(true, Ordering::SeqCst);
        if self.shared.slot.is_aborted() {
            self.shared.committing.store(false, Ordering::SeqCst);
        }
        let finished = self.finished().await;
        let mut acceptance = self.shared.engine.accept_with(&finished, answers).await?;
        if let Acceptance::Accepted(accepted) = &mut acceptance {
            guard.disarm();
            let ahead = waited_from.saturating_sub(self.shared.started_ms);
            accepted.time_saved_ms = accepted.time_saved_ms.min(ahead);
            accepted.next = match self.shared.next.clone().now_or_never() {
                Some(Ok(Some(next))) => Some(next.best().as_str().to_owned()),
                _ => None,
            };
        }
        if acceptance == Acceptance::Discarded {
            self.abort();
        }
        Ok(acceptance)
    }

    /// Hands over the work as [`accept`](Self::accept) does, but to what turns have staged, on which it stands: it is
    /// written together with that. Work that cannot be staged is [`Acceptance::Discarded`].
    pub async fn stage_on(&self, staged: &Staged) -> Result<Acceptance, AcceptError> {
        if self.shared.accept_started.swap(true, Ordering::AcqRel) {
            return Err(AcceptError::AlreadyAccepted { id: self.shared.id.clone() });
        }
        let guard = AcceptGuard { shared: &self.shared, armed: true };
        let finished = self.finished().await;
        if !finished.has_results() {
            return Ok(Acceptance::Nothing);
        }
        if staged.adopt(&finished).is_err() {
            self.abort();
            return Ok(Acceptance::Discarded);
        }
        guard.disarm();
        let engine = &self.shared.engine;
        // What cannot be kept is told by the next turn.
        let _ = engine.host.keep_staged(staged.asked_about().as_ref()).await;
        let next = self.shared.next.clone().now_or_never().and_then(Result::ok).flatten();
        Ok(Acceptance::Accepted(Accepted {
            changes: finished.changes.summary(),
            git: finished.git.clone().map(Box::new),
            not_kept: finished.not_kept.clone(),
            merged: Vec::new(),
            stale_reads: Vec::new(),
            changed_since_view: Vec::new(),
            conflict_resolutions: Vec::new(),
            transcript: finished.transcript.clone(),
            ending: finished.ending.clone(),
            next: next.map(|next| next.best().as_str().to_owned()),
            time_saved_ms: finished.cost.work_ms.saturating_sub(finished.cost.stopped_ms),
        }))
    }

    fn aborted_result(&self) -> Finished {
        Finished {
            id: self.shared.id.clone(),
            prompt: self.shared.prompt.clone(),
            ending: Ending::Aborted,
            transcript: Transcript::default(),
            task_calls: Vec::new(),
            changes: ChangeSet::default(),
            git: None,
            not_kept: Vec::new(),
            keepable: Vec::new(),
            failed: Vec::new(),
            next: None,
            cost: lock(&self.shared.progress).cost,
            viewed_ms: None,
            preview: None,
            check: None,
        }
    }
}

/// Unless the work was taken, lets another accept follow, even if the future of this one is dropped.
struct AcceptGuard<'a> {
    shared: &'a SpeculationState,
    armed: bool,
}

impl AcceptGuard<'_> {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for AcceptGuard<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.shared.committing.store(false, Ordering::SeqCst);
            if self.shared.slot.is_aborted() {
                self.shared.forget();
            }
            self.shared.accept_started.store(false, Ordering::Release);
        }
    }
}
