use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{BoxFuture, Either, FutureExt as _, select};
use headstart_overlay_fs::{Overlay, WorkspacePath};
use headstart_toolbox::{EditObserver, FinalLook, ToolContext};

use super::snapshot_of;
use crate::{CodeIntel, Delta, Diagnostic, IntelError, Severity, Snapshot};

/// How long to wait before a server that loads the project is asked again.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Tells the model at once which errors its edit caused, if a server is warm and finishes within a short time.
///
/// What comes too late is told after a later edit of the same overlay. A server that does not run is started for
/// later edits. An error is told once. Where work is called done, a server that is still loading is waited for.
pub struct EditDiagnostics {
    intel: CodeIntel,
    time: Duration,
    known: Mutex<Vec<OverlayState>>,
}

/// What is known about one overlay.
struct OverlayState {
    overlay: Weak<Overlay>,
    /// The errors that were told.
    reported: BTreeSet<(WorkspacePath, String)>,
    /// An answer that was not ready in time.
    pending: Option<BoxFuture<'static, Result<Delta, IntelError>>>,
}

impl EditDiagnostics {
    /// `time` is the longest that an edit waits; 800 ms is usual.
    pub fn new(intel: CodeIntel, time: Duration) -> Self {
        Self { intel, time, known: Mutex::default() }
    }

    /// The new errors of a state, asked for again as long as a server loads the project.
    async fn patiently(&self, snapshot: &Snapshot) -> Result<Delta, IntelError> {
        loop {
            match self.intel.diagnostics(snapshot, &[], Severity::Error).await {
                Ok(delta) if delta.unfinished && delta.new.is_empty() => {}
                Err(IntelError::Loading { .. }) => {}
                answer => return answer,
            }
            self.intel.sleep(BETWEEN_LOOKS).await;
        }
    }

    fn with<T>(&self, overlay: &Arc<Overlay>, work: impl FnOnce(&mut OverlayState) -> T) -> T {
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.overlay.strong_count() != 0);
        let this = Arc::downgrade(overlay);
        let place = all.iter().position(|known| known.overlay.ptr_eq(&this)).unwrap_or_else(|| {
            all.push(OverlayState { overlay: this, reported: BTreeSet::new(), pending: None });
            all.len() - 1
        });
        work(&mut all[place])
    }
}

impl std::fmt::Debug for EditDiagnostics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EditDiagnostics").field("time", &self.time).finish_non_exhaustive()
    }
}

#[async_trait]
impl EditObserver for EditDiagnostics {
    async fn on_edit(&self, path: &WorkspacePath, context: ToolContext<'_>) -> Option<String> {
        if self.time.is_zero() {
            return None;
        }
        if !self.intel.is_running(path).await {
            self.intel.warm_in_background(path).await;
            return None;
        }
        let pending = self.with(context.view, |known| known.pending.take());
        // An answer that is ready by now is about an older state, and is told only if the one about this state is
        // late too.
        let (earlier, pending) = match pending {
            None => (None, None),
            Some(mut pending) => match (&mut pending).now_or_never() {
                Some(answer) => (answer.ok(), None),
                None => (None, Some(pending)),
            },
        };
        // A question that still waits in the queue is about a state that does not exist any more, so this one
        // replaces it.
        drop(pending);
        let (intel, snapshot) = (self.intel.clone(), snapshot_of(context));
        let question = async move { intel.diagnostics(&snapshot, &[], Severity::Error).await }.boxed();
        let (delta, was_pending) = match select(question, self.intel.sleep(self.time).boxed()).await {
            Either::Left((answer, _)) => (answer.ok()?, false),
            Either::Right(((), question)) => {
                self.with(context.view, |known| known.pending = Some(question));
                (earlier?, true)
            }
        };
        let server = self.intel.server_of(path).await.unwrap_or_default();
        self.with(context.view, |known| describe_new_errors(known, &server, &delta, was_pending))
    }

    async fn look_at_all(
        &self,
        staged: &[WorkspacePath],
        time: Duration,
        context: ToolContext<'_>,
    ) -> Option<FinalLook> {
        if self.time.is_zero() {
            return None;
        }
        let by = self.intel.first_server_of(staged).await?;
        // What an edit still waits for is about an older state.
        drop(self.with(context.view, |known| known.pending.take()));
        let snapshot = snapshot_of(context);
        let late = format!("it was still at work after {} s, so nobody looked", time.as_secs());
        let new_errors = match select(self.patiently(&snapshot).boxed(), self.intel.sleep(time).boxed()).await
        {
            Either::Left((Err(IntelError::Missing { .. }), _)) => return None,
            Either::Left((Ok(Delta { new, partial: Some(why), .. }), _)) if new.is_empty() => Err(why),
            Either::Left((Ok(delta), _)) => Ok(delta.new.iter().map(Diagnostic::line_for_model).collect()),
            Either::Left((Err(error), _)) => Err(error.to_string()),
            Either::Right(_) => Err(late),
        };
        Some(FinalLook { by, new_errors })
    }
}

/// What an edit's answer tells the model about new errors: `rust-analyzer: 1 new error in src/lib.rs`.
pub fn edit_diagnostics_summary(answer: &str) -> Option<&str> {
    let mut lines = answer.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    lines.find(|line| line.contains(" new error"))
}

/// Describes the errors that were not told yet.
fn describe_new_errors(
    known: &mut OverlayState,
    server: &str,
    delta: &Delta,
    was_pending: bool,
) -> Option<String> {
    let key = |one: &Diagnostic| (one.path.clone(), one.message.clone());
    let errors: Vec<&Diagnostic> = delta.new.iter().collect();
    // An error that was fixed and comes back is told again.
    let present: BTreeSet<_> = errors.iter().map(|one| key(one)).collect();
    known.reported.retain(|reported| present.contains(reported));
    let fresh: Vec<&Diagnostic> = errors.into_iter().filter(|one| known.reported.insert(key(one))).collect();
    if fresh.is_empty() {
        return None;
    }
    let files: BTreeSet<&WorkspacePath> = fresh.iter().map(|one| &one.path).collect();
    let place = match files.len() {
        1 => format!("in {}", fresh[0].path),
        more => format!("in {more} files"),
    };
    let when = if was_pending { ", before this edit" } else { "" };
    let noun = if fresh.len() == 1 { "error" } else { "errors" };
    let lines: Vec<String> = fresh.iter().map(|one| one.line_for_model()).collect();
    Some(format!("[{server}: {} new {noun} {place}{when}]\n{}", fresh.len(), lines.join("\n")))
}
