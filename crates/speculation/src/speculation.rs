use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{BoxFuture, Shared};
use futures::task::AtomicWaker;
use headstart_followup_state::Suggestion;
use headstart_forked_query::CacheSafeParams;
use headstart_overlay_fs::{ChangeSet, Overlay};

use crate::event::EventSender;
use crate::pipeline::next_suggestion;
use crate::run::{Run, SharedProgress, lock, millis};
use crate::{AcceptError, Acceptance, Cost, Ending, Engine, Finished, Status, Transcript};

/// A prompt that runs ahead of the user. Cheap to clone; every clone is the same speculation.
#[derive(Clone)]
pub struct Speculation {
    shared: Arc<State>,
}

struct State {
    id: String,
    prompt: String,
    engine: Engine,
    overlay: Arc<Overlay>,
    progress: SharedProgress,
    slot: Arc<Slot>,
    finished: Shared<oneshot::Receiver<Arc<Finished>>>,
    next: Shared<oneshot::Receiver<Option<Suggestion>>>,
    started_ms: u64,
    taken: AtomicBool,
}

/// All that the work of a speculation needs.
pub(crate) struct Work {
    pub(crate) id: String,
    pub(crate) engine: Engine,
    pub(crate) params: CacheSafeParams,
    pub(crate) prompt: String,
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) progress: SharedProgress,
    pub(crate) events: EventSender,
}

/// The future that does a speculation's work, for the host to spawn or poll. It resolves when the work is done, the
/// next suggestion included, or when the speculation is aborted.
#[must_use = "nothing happens until the driver is polled"]
pub struct Driver {
    slot: Arc<Slot>,
}

/// Where the work lives while it is not done, so that an abort can drop it at once, whoever polls it.
struct Slot {
    work: Mutex<Option<BoxFuture<'static, ()>>>,
    aborted: AtomicBool,
    waker: AtomicWaker,
}

impl Slot {
    /// Drops the work: the model's request is cancelled before this returns, unless the work is being polled by
    /// another thread at this moment; then it is dropped when that poll returns.
    fn abort(&self) {
        self.aborted.store(true, Ordering::Release);
        let work = match self.work.try_lock() {
            Ok(mut work) => work.take(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take(),
            Err(TryLockError::WouldBlock) => None,
        };
        drop(work);
        self.waker.wake();
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.slot.waker.register(context.waker());
        let mut work = lock(&self.slot.work);
        let Some(future) = work.as_mut() else {
            return Poll::Ready(());
        };
        let polled = if self.slot.aborted.load(Ordering::Acquire) {
            Poll::Ready(())
        } else {
            future.poll_unpin(context)
        };
        if polled.is_ready() || self.slot.aborted.load(Ordering::Acquire) {
            *work = None;
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl Speculation {
    pub(crate) fn new(work: Work) -> (Self, Driver) {
        let (send_finished, finished) = oneshot::channel();
        let (send_next, next) = oneshot::channel();
        let state = State {
            id: work.id.clone(),
            prompt: work.prompt.clone(),
            engine: work.engine.clone(),
            overlay: Arc::clone(&work.overlay),
            progress: Arc::clone(&work.progress),
            started_ms: millis(work.engine.host.now()),
            slot: Arc::new(Slot {
                work: Mutex::new(Some(work.run(send_finished, send_next).boxed())),
                aborted: AtomicBool::new(false),
                waker: AtomicWaker::new(),
            }),
            finished: finished.shared(),
            next: next.shared(),
            taken: AtomicBool::new(false),
        };
        let driver = Driver { slot: Arc::clone(&state.slot) };
        (Self { shared: Arc::new(state) }, driver)
    }

    /// The id that the host gave.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// The prompt that runs.
    pub fn prompt(&self) -> &str {
        &self.shared.prompt
    }

    /// Where it is.
    pub fn status(&self) -> Status {
        if self.shared.slot.aborted.load(Ordering::Acquire) {
            return Status::Aborted;
        }
        match self.shared.finished.clone().now_or_never() {
            Some(Ok(finished)) => finished.ending.status(),
            Some(Err(_)) => Status::Aborted,
            None => Status::Running,
        }
    }

    /// What it has come to so far.
    pub fn transcript(&self) -> Transcript {
        lock(&self.shared.progress).transcript.clone()
    }

    /// What it cost so far, the query for the next suggestion included.
    pub fn cost(&self) -> Cost {
        lock(&self.shared.progress).cost
    }

    /// What it would change, so far.
    pub fn changes(&self) -> ChangeSet {
        self.shared.overlay.change_set()
    }

    /// Waits for the end of the work. An aborted speculation gives an empty record.
    pub async fn finished(&self) -> Arc<Finished> {
        match self.shared.finished.clone().await {
            Ok(finished) if self.status() != Status::Aborted => finished,
            _ => Arc::new(self.aborted_record()),
        }
    }

    /// Waits for the suggestion for what comes after. There is none unless the speculation is completed.
    pub async fn next(&self) -> Option<Suggestion> {
        self.shared.next.clone().await.ok().flatten()
    }

    /// Candidates for what comes next beside the best one, which [`next`](Self::next) gives; they come with it. There are
    /// none unless [`Limits::candidates`](crate::Limits::candidates) asks for several.
    pub fn other_candidates(&self) -> Vec<Suggestion> {
        lock(&self.shared.progress).others.clone()
    }

    /// Gives it up: the model's request is dropped, staged files are forgotten, nothing ever happened. Work that was
    /// accepted before stays.
    pub fn abort(&self) {
        self.shared.slot.abort();
        self.shared.engine.workspace.forget(&self.shared.overlay.change_set());
        self.shared.overlay.discard();
    }

    /// Hands the work over: waits for it if it still runs, then commits its changes and gives its transcript. The
    /// rules in force now count.
    ///
    /// The suggestion for what comes after is part of the answer if it is there already; else
    /// [`next`](Self::next) gives it later. A conflict or a withdrawn permission changes nothing, and another accept
    /// may follow; a second accept after the first one succeeded is [`AcceptError::Taken`].
    pub async fn accept(&self) -> Result<Acceptance, AcceptError> {
        if self.shared.taken.swap(true, Ordering::AcqRel) {
            return Err(AcceptError::Taken { id: self.shared.id.clone() });
        }
        let give_back = GiveBack { taken: &self.shared.taken, armed: true };
        let waited_from = millis(self.shared.engine.host.now());
        let finished = self.finished().await;
        let mut acceptance = self.shared.engine.accept(&finished).await?;
        if let Acceptance::Accepted(accepted) = &mut acceptance {
            give_back.disarm();
            let ahead = waited_from.saturating_sub(self.shared.started_ms);
            accepted.time_saved_ms = accepted.time_saved_ms.min(ahead);
            accepted.next = match self.shared.next.clone().now_or_never() {
                Some(Ok(Some(next))) => Some(next.as_str().to_owned()),
                _ => None,
            };
        }
        Ok(acceptance)
    }

    fn aborted_record(&self) -> Finished {
        Finished {
            id: self.shared.id.clone(),
            prompt: self.shared.prompt.clone(),
            ending: Ending::Aborted,
            transcript: Transcript::default(),
            changes: ChangeSet::default(),
            next: None,
            cost: lock(&self.shared.progress).cost,
        }
    }
}

/// Lets another accept follow where this one did not take the work, also where its future was dropped.
struct GiveBack<'a> {
    taken: &'a AtomicBool,
    armed: bool,
}

impl GiveBack<'_> {
    fn disarm(mut self) {
        self.armed = false;
    }
}

impl Drop for GiveBack<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.taken.store(false, Ordering::Release);
        }
    }
}

impl Work {
    async fn run(
        self,
        send_finished: oneshot::Sender<Arc<Finished>>,
        send_next: oneshot::Sender<Option<Suggestion>>,
    ) {
        let request = self.params.fork(&self.engine.background);
        let permits = self.engine.speculative(&request, &self.overlay);
        let run = Run {
            model: &*self.engine.background.model,
            base: &request,
            permits: &permits,
            host: &*self.engine.host,
            limits: &self.engine.limits,
            progress: &self.progress,
            events: &self.events,
        };
        let ending = run.to_end().await;
        let finished = Arc::new(self.finish(ending));
        let completed = finished.ending == Ending::Completed;
        // The receivers live as long as the handle; without a handle nobody wants the answer.
        let _ = send_finished.send(Arc::clone(&finished));
        drop(self.events);
        // Only the speed of an accept rests on it; an accept at this moment waits for it, or does without.
        let _ = self.engine.workspace.prepare(&finished.changes).await;
        let next = if completed {
            next_suggestion(&self.engine, &self.params, &finished, &self.progress).await
        } else {
            None
        };
        let _ = send_next.send(next);
    }

    fn finish(&self, ending: Ending) -> Finished {
        let mut progress = lock(&self.progress);
        let staged = self.overlay.usage();
        progress.cost.staged_files = staged.files;
        progress.cost.staged_bytes = staged.bytes;
        Finished {
            id: self.id.clone(),
            prompt: self.prompt.clone(),
            ending,
            transcript: progress.transcript.clone(),
            changes: self.overlay.change_set(),
            next: None,
            cost: progress.cost,
        }
    }
}

impl Cost {
    /// Tokens read and written, cached ones included.
    pub fn spent_tokens(&self) -> u64 {
        self.tokens.input_tokens.saturating_add(self.tokens.output_tokens)
    }
}
