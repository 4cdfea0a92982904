//! What turns of the user have done and nobody has written yet.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use headstart_forked_query::{Message, Part, Role, ToolCall, ToolOutcome};
use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{
    Change, ChangeSet, DirEntry, Metadata, Overlay, Tree, TreeError, Workspace, WorkspacePath,
};
use headstart_toolbox::Toolbox;

use crate::base_view::BaseView;
use crate::event::EventSender;
use crate::lock::lock;
use crate::shadow::ViewRunner;
use crate::turn_loop::{Progress, SharedProgress};
use crate::{ApprovalRequest, Cost, Ending, Event, Finished, Host, Limits, Transcript};

/// The most turns that can be taken back one by one.
const MOST_TURNS: usize = 50;

/// What the turns of one conversation have staged. Cheap to clone; every clone is the same.
///
/// As a [`Tree`] it is the workspace with what is staged. Once that is written or dropped, the next turn stages anew,
/// and what runs ahead on top of what was written stands on the workspace from then on.
#[derive(Clone)]
pub struct Staged {
    shared: Arc<StagedState>,
}

struct StagedState {
    /// Begins the id of each layer.
    id: String,
    workspace: Arc<dyn Workspace>,
    layer: Mutex<Option<Arc<Layer>>>,
    /// How many layers there were.
    layers: Mutex<u64>,
    /// What was staged at the beginning of each turn since the last write; `None` for nothing.
    turns: Mutex<Vec<Option<Finished>>>,
}

/// What was taken back of what was staged.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenBack {
    /// The paths that are as they were before.
    pub paths: Vec<WorkspacePath>,
    /// What was done with git; `None` for nothing.
    pub git: Option<GitChange>,
}

/// What was staged since the last write.
pub(crate) struct Layer {
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) view_runner: Arc<ViewRunner>,
    id: String,
    progress: SharedProgress,
    base_view: Arc<BaseView>,
    /// What the turns said last: their prompt, and the last words of the answer.
    said: Mutex<(String, String)>,
    /// The calls that began and have not ended.
    running: Mutex<Vec<String>>,
    /// Whether an earlier process staged it, which may have died while it was being written.
    is_restored: bool,
}

impl Staged {
    /// Nothing is staged yet. The ids of what will be begin with `id`, which nothing else has.
    pub fn new(id: &str, workspace: Arc<dyn Workspace>) -> Self {
        let id = id.to_owned();
        let (layer, layers, turns) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { shared: Arc::new(StagedState { id, workspace, layer, layers, turns }) }
    }

    /// Begins with what an earlier process staged and kept.
    pub fn restore(&self, kept: &Finished, toolbox: &Toolbox, limits: &Limits) -> Result<(), TreeError> {
        self.lay(kept, toolbox, limits, true)
    }

    /// Stages this in a new layer.
    fn lay(
        &self,
        kept: &Finished,
        toolbox: &Toolbox,
        limits: &Limits,
        is_restored: bool,
    ) -> Result<(), TreeError> {
        let layer = self.new_layer(toolbox, limits, is_restored);
        layer.overlay.replace(&kept.changes)?;
        let answer = kept.transcript.answer_line().unwrap_or_default();
        *lock(&layer.said) = (kept.prompt.clone(), answer);
        {
            let mut progress = lock(&layer.progress);
            progress.git.clone_from(&kept.git);
            progress.task_calls.clone_from(&kept.task_calls);
            progress.left_out.restore(&kept.not_kept, &kept.keepable);
            progress.failed.add(&kept.failed);
        }
        *lock(&self.shared.layer) = Some(Arc::new(layer));
        Ok(())
    }

    /// Whether a write would change anything.
    pub fn is_dirty(&self) -> bool {
        self.layer().is_some_and(|layer| layer.is_dirty())
    }

    /// What the user is asked when a turn has ended; `None` if there is nothing to write and nothing to keep besides.
    pub fn approval(&self) -> Option<ApprovalRequest> {
        self.asked_about().map(|finished| ApprovalRequest::of(&finished))
    }

    /// What a user can answer about; `None` if there is nothing to write and nothing to keep besides.
    pub fn asked_about(&self) -> Option<Finished> {
        self.finished().filter(|finished| self.is_dirty() || !finished.keepable.is_empty())
    }

    /// What is staged, as work that another process can accept.
    pub fn finished(&self) -> Option<Finished> {
        self.layer().map(|layer| layer.finished())
    }

    /// Forgets what is staged. Work that runs ahead on top of it has to be aborted.
    pub fn forget(&self) {
        lock(&self.shared.turns).clear();
        self.discard();
    }

    fn discard(&self) {
        if let Some(layer) = lock(&self.shared.layer).take() {
            self.shared.workspace.forget(&layer.overlay.change_set());
            layer.overlay.discard();
        }
    }

    /// Notes that a turn begins, which can be [taken back](Self::take_back_turn).
    pub fn begin_turn(&self) {
        let before = self.finished().filter(|_| self.is_dirty());
        let mut turns = lock(&self.shared.turns);
        if turns.len() == MOST_TURNS {
            // The two oldest are taken back as one.
            turns.remove(1);
        }
        turns.push(before);
    }

    /// Takes back what the last turn staged that staged something. `None` if nothing is staged, or if it is not known what
    /// was there before: a turn of an earlier process staged it. Work that runs ahead on top of it has to be aborted.
    pub fn take_back_turn(&self, toolbox: &Toolbox, limits: &Limits) -> Option<TakenBack> {
        let now = self.finished().filter(|_| self.is_dirty())?;
        let before = loop {
            let Some(before) = lock(&self.shared.turns).pop() else {
                if self.is_restored() {
                    return None;
                }
                break None;
            };
            let is_other =
                |before: &Finished| before.changes.changes != now.changes.changes || before.git != now.git;
            match before {
                Some(before) if !is_other(&before) => {}
                before => break before,
            }
        };
        let is_restored = self.is_restored();
        self.discard();
        let (left, git) = match before {
            None => (Vec::new(), None),
            Some(before) => {
                self.lay(&before, toolbox, limits, is_restored).ok()?;
                (before.changes.changes, before.git)
            }
        };
        let all = left.iter().chain(&now.changes.changes);
        let is_other = |change: &&Change| !(left.contains(change) && now.changes.changes.contains(change));
        let paths: BTreeSet<_> = all.filter(is_other).map(|change| change.path.clone()).collect();
        let git = now.git.filter(|done| git.as_ref() != Some(done));
        Some(TakenBack { paths: paths.into_iter().collect(), git })
    }

    /// Stages work that ran ahead on top of what is staged. The error says why it cannot be.
    pub fn adopt(&self, work: &Finished) -> Result<(), String> {
        let Some(layer) = self.layer() else { return Err("nothing is staged that it could stand on".into()) };
        let mut progress = lock(&layer.progress);
        if progress.git.is_some() && work.git.is_some() {
            return Err(
                "both it and what is staged changed the repository: write or drop what is staged first"
                    .into(),
            );
        }
        let both = layer.overlay.change_set().then(&work.changes);
        layer.overlay.replace(&both).map_err(|error| error.to_string())?;
        let calls = work.transcript.messages.iter().flat_map(Message::tool_calls);
        let calls: Vec<_> = calls.chain(&work.task_calls).cloned().collect();
        progress.task_calls.extend(calls);
        progress.git = work.git.clone().or(progress.git.take());
        progress.left_out.note_gone(&work.not_kept);
        progress.failed.add(&work.failed);
        Ok(())
    }

    /// Whether a call of this id was cut while it ran over what is staged: nothing of what it did is there.
    pub fn has_cut(&self, call: &str) -> bool {
        self.layer().is_some_and(|layer| lock(&layer.running).iter().any(|id| id == call))
    }

    /// The layer on which work ahead stands.
    pub(crate) fn below(&self) -> Option<Arc<BaseView>> {
        let layer = self.layer().filter(|layer| layer.is_dirty());
        layer.map(|layer| Arc::clone(&layer.base_view))
    }

    pub(crate) fn is_restored(&self) -> bool {
        self.layer().is_some_and(|layer| layer.is_restored)
    }

    /// Notes that all of it is in the workspace.
    pub(crate) fn written(&self) {
        lock(&self.shared.turns).clear();
        if let Some(layer) = lock(&self.shared.layer).take() {
            layer.base_view.written();
        }
    }

    /// The layer in which a call stages; a new one if there is none.
    pub(crate) fn open(&self, toolbox: &Toolbox, limits: &Limits) -> Arc<Layer> {
        if let Some(layer) = self.layer() {
            return layer;
        }
        let layer = Arc::new(self.new_layer(toolbox, limits, false));
        Arc::clone(lock(&self.shared.layer).insert(layer))
    }

    /// Notes what the turn has said.
    pub(crate) fn note_said(&self, transcript: &Transcript) {
        let Some(layer) = self.layer() else { return };
        let texts = |role: Role| {
            transcript.messages.iter().filter(move |message| message.role == role).flat_map(|message| {
                message.parts.iter().filter_map(|part| match part {
                    Part::Text { text } if !text.trim().is_empty() => Some(text),
                    _ => None,
                })
            })
        };
        let prompt = texts(Role::User).next().cloned().unwrap_or_default();
        let answer = texts(Role::Model).last().cloned().unwrap_or_default();
        *lock(&layer.said) = (prompt, answer);
    }

    /// Has the host keep what is staged now.
    pub(crate) async fn keep(&self, host: &dyn Host, events: &EventSender) {
        if let Err(problem) = host.keep_staged(self.asked_about().as_ref()).await {
            events.send(Event::NotKept { problem });
        }
    }

    fn layer(&self) -> Option<Arc<Layer>> {
        lock(&self.shared.layer).clone()
    }

    fn new_layer(&self, toolbox: &Toolbox, limits: &Limits, is_restored: bool) -> Layer {
        let number = {
            let mut layers = lock(&self.shared.layers);
            *layers += 1;
            *layers
        };
        let id = format!("{}-turns-{number}", self.shared.id);
        let workspace = &self.shared.workspace;
        let overlay = Arc::new(Overlay::new(Arc::clone(workspace) as Arc<dyn Tree>, limits.staged));
        let progress = Arc::new(Mutex::new(Progress::default()));
        let (of_view, of_base) = (Arc::clone(&progress), Arc::clone(&progress));
        let base_view = BaseView::new(id.clone(), Arc::clone(&overlay), of_base, Arc::clone(workspace));
        let events = EventSender::discarding();
        let view_runner = ViewRunner::new(&id, toolbox.clone(), None, of_view, events);
        Layer {
            overlay,
            view_runner: Arc::new(view_runner),
            id,
            progress,
            base_view: Arc::new(base_view),
            said: Mutex::default(),
            running: Mutex::default(),
            is_restored,
        }
    }

    fn tree(&self) -> Arc<dyn Tree> {
        match self.layer() {
            Some(layer) => Arc::clone(&layer.overlay) as Arc<dyn Tree>,
            None => Arc::clone(&self.shared.workspace) as Arc<dyn Tree>,
        }
    }
}

impl Layer {
    fn is_dirty(&self) -> bool {
        self.overlay.is_staged(&WorkspacePath::root()) || lock(&self.progress).git.is_some()
    }

    /// Notes that a call begins. Unless it [ends](Self::note_ended), it was cut.
    pub(crate) fn note_begun(&self, call: &ToolCall) {
        lock(&self.running).push(call.id.clone());
    }

    /// Notes that a call has ended: what it did counts, and is judged again when it is written.
    pub(crate) fn note_ended(&self, call: &ToolCall, outcome: Option<&ToolOutcome>) {
        lock(&self.running).retain(|id| *id != call.id);
        if matches!(outcome, Some(ToolOutcome::Output(_))) {
            lock(&self.progress).task_calls.push(call.clone());
        }
    }

    fn finished(&self) -> Finished {
        let (prompt, answer) = lock(&self.said).clone();
        let mut transcript = Transcript::new(&prompt);
        let answer = if answer.is_empty() { "(the turn did not end)".to_owned() } else { answer };
        transcript.answer(vec![Part::Text { text: answer }]);
        let (mut changes, staged) = (self.overlay.change_set(), self.overlay.usage());
        // A turn reads what its user agrees to (a closed file, say), and what changes after it was read is no conflict.
        changes.reads.clear();
        let progress = lock(&self.progress);
        Finished {
            id: self.id.clone(),
            prompt,
            ending: Ending::Completed,
            transcript,
            task_calls: progress.task_calls.clone(),
            changes,
            git: progress.git.clone(),
            not_kept: progress.left_out.rows(),
            keepable: progress.left_out.keepable(),
            failed: progress.failed.rows(),
            next: None,
            cost: Cost { staged_files: staged.files, staged_bytes: staged.bytes, ..Cost::default() },
            viewed_ms: progress.view_times.earliest(),
            preview: None,
            check: progress.check.clone(),
        }
    }
}

#[async_trait]
impl Tree for Staged {
    async fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, TreeError> {
        self.tree().metadata(path).await
    }

    async fn read(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree().read(path).await
    }

    async fn look(&self, path: &WorkspacePath) -> Result<(Metadata, Option<Vec<u8>>), TreeError> {
        self.tree().look(path).await
    }

    async fn list(&self, path: &WorkspacePath) -> Result<Vec<DirEntry>, TreeError> {
        self.tree().list(path).await
    }

    async fn read_link(&self, path: &WorkspacePath) -> Result<Vec<u8>, TreeError> {
        self.tree().read_link(path).await
    }

    async fn check_changes(&self, changes: &[Change]) -> Result<(), TreeError> {
        self.tree().check_changes(changes).await
    }

    fn is_staged(&self, path: &WorkspacePath) -> bool {
        self.tree().is_staged(path)
    }

    fn staged_changes(&self) -> ChangeSet {
        self.tree().staged_changes()
    }
}
