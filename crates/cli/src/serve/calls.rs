//! One call from the client, from its first message to its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use headstart_overlay_fs::{ChangeKind, ChangeSet, Content, ContentHash, OsTree, Overlay, Tree, TreeError};
use headstart_shadow::{Command, End, Stream};
use headstart_tool_gate::DenyRules;
use headstart_toolbox::exchange::{
    ClientMessage, ContentAssembler, Failure, Manifest, RunRequest, RunResult, ServerMessage, StagedChange,
    TreeEdit, WarmRequest, WarmResult, content_pieces, with_base,
};
use headstart_toolbox::{PriorGitChanges, SecretAccess, ToolError, ViewId, ViewRequest};
use tokio::sync::mpsc;

use super::{ServeSession, lock};

/// The most bytes of the output of a build in advance that are returned, from its end.
const MAX_BUILT: usize = 64 << 10;

/// A call with its messages.
pub(super) struct ServedCall {
    pub(super) session: Arc<ServeSession>,
    pub(super) id: u64,
    pub(super) more: mpsc::Receiver<ClientMessage>,
}

/// Why a call failed.
pub(super) struct CallFailure(pub(super) Failure, pub(super) String);

impl From<ToolError> for CallFailure {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::NoView { why, .. } => Self(Failure::NoView, why),
            ToolError::Quota { message } => Self(Failure::Quota, message),
            error => Self(Failure::Call, error.to_string()),
        }
    }
}

impl ServedCall {
    pub(super) async fn answer(mut self) {
        let answered = match self.more.recv().await {
            Some(ClientMessage::Tree { since, digest, edits, more, .. }) => {
                self.tree(since, digest, edits, more).await
            }
            Some(ClientMessage::Run(run)) => self.run(*run).await,
            Some(ClientMessage::RunLocal(run)) => self.run_local(*run).await,
            Some(ClientMessage::Accept(accept)) => self.accept(*accept).await,
            Some(ClientMessage::TakeBack { accept, .. }) => self.take_back(accept).await,
            Some(ClientMessage::ChangedSince { since_ms, .. }) => self.changed_since(since_ms).await,
            Some(ClientMessage::Warm(warm)) => self.warm(warm).await,
            _ => return,
        };
        if let Err(CallFailure(failure, why)) = answered {
            self.session.send(&ServerMessage::Failed { id: self.id, failure, why }).await;
        }
    }

    async fn tree(
        &mut self,
        since: Option<ContentHash>,
        digest: ContentHash,
        mut edits: Vec<TreeEdit>,
        mut more: bool,
    ) -> Result<(), CallFailure> {
        while more {
            let Some(ClientMessage::Tree { edits: next, more: is_more, .. }) = self.more.recv().await else {
                return Ok(());
            };
            edits.extend(next);
            more = is_more;
        }
        let (id, session) = (self.id, Arc::clone(&self.session));
        // The contents arrive while the copy is locked, so all of this is one piece of work outside of the runtime.
        let (asks, wanted) = mpsc::channel(1);
        let more = std::mem::replace(&mut self.more, mpsc::channel(1).1);
        let work = move || update_copy(&session, since, digest, &edits, &asks, more);
        let work = tokio::task::spawn_blocking(work);
        let session = Arc::clone(&self.session);
        let mut wanted: mpsc::Receiver<ServerMessage> = wanted;
        while let Some(message) = wanted.recv().await {
            let message = match message {
                ServerMessage::Missing { hashes, .. } => ServerMessage::Missing { id, hashes },
                ServerMessage::Unknown { .. } => ServerMessage::Unknown { id },
                _ => ServerMessage::Ready { id },
            };
            session.send(&message).await;
        }
        work.await.unwrap_or_else(|error| Err(CallFailure(Failure::NoView, error.to_string())))
    }

    async fn run(&mut self, run: RunRequest) -> Result<(), CallFailure> {
        let session = Arc::clone(&self.session);
        let view = ViewId::new(&run.view);
        let mut contents = self.contents(&run).await?;
        let mut content = |hash: ContentHash| contents.get(&hash).cloned();
        let gone = |hash| CallFailure(Failure::Call, format!("the content {hash} did not come"));
        let below = StagedChange::change_set(&run.below, &mut content).map_err(gone)?;
        let staged = StagedChange::change_set(&run.staged, &mut content).map_err(gone)?;
        let no_view = |error: TreeError| CallFailure(Failure::NoView, error.to_string());
        let tree = OsTree::open(&session.tree).map_err(no_view)?;
        let below = with_base(&tree, below).await.map_err(no_view)?;
        let base = Arc::new(Overlay::new(Arc::new(tree), session.quota));
        base.replace(&below).map_err(no_view)?;
        let staged = with_base(&*base, staged).await.map_err(no_view)?;
        {
            let mut view_bases = lock(&session.view_bases);
            // A view may still show the old content of a file that was replaced below it.
            if view_bases.insert(view.clone(), run.tree).is_some_and(|before| before != run.tree) {
                session.views.end(&view);
            }
        }
        let request = ViewRequest {
            printed: None,
            command: run.command,
            directory: run.directory,
            view,
            below: Arc::new(below),
            staged: Arc::new(staged),
            git: PriorGitChanges::default(),
            base: base as Arc<dyn Tree>,
            // Closed files are never sent to this machine.
            deny: DenyRules::default(),
            secrets: SecretAccess::Open,
            time_limit: Duration::from_millis(run.time_ms),
            output_limit: run.output_bytes,
        };
        let ran = session.views.run(request).await?;
        for content in contents.values() {
            lock(&session.contents).put(content);
        }
        for content in written(&ran.changes) {
            lock(&session.contents).put(content);
            // The client knows the contents that it sent.
            if contents.insert(content.hash(), content.clone()).is_some() {
                continue;
            }
            for (bytes, more) in content_pieces(content) {
                session
                    .send(&ServerMessage::Content { id: self.id, hash: content.hash(), bytes, more })
                    .await;
            }
        }
        session.send(&ServerMessage::Ran(Box::new(RunResult::of(self.id, &ran)))).await;
        Ok(())
    }

    /// All contents that a command names. Those that are missing here are requested.
    async fn contents(&mut self, run: &RunRequest) -> Result<BTreeMap<ContentHash, Content>, CallFailure> {
        let hashes: BTreeSet<ContentHash> = run.hashes().collect();
        let mut found: BTreeMap<_, _> = {
            let contents = lock(&self.session.contents);
            hashes.iter().filter_map(|hash| Some((*hash, contents.get(*hash)?))).collect()
        };
        let left: BTreeSet<_> = hashes.into_iter().filter(|hash| !found.contains_key(hash)).collect();
        let (session, tree, wanted) = (Arc::clone(&self.session), run.tree, left.clone());
        let look = tokio::task::spawn_blocking(move || {
            let mut copy = session.copy()?;
            let mut copy = copy.lock()?;
            Ok::<_, io::Error>((copy.digest() == tree).then(|| copy.content(&wanted)))
        });
        let looked = look.await.map_err(|error| CallFailure(Failure::NoView, error.to_string()))?;
        let in_copy = looked.map_err(|error| CallFailure(Failure::NoView, error.to_string()))?;
        let changed =
            || CallFailure(Failure::TreeChanged, "the workspace is in another state by now".to_owned());
        found.extend(in_copy.ok_or_else(changed)?);
        let missing: Vec<_> = left.into_iter().filter(|hash| !found.contains_key(hash)).collect();
        let mut pieces = ContentAssembler::only(missing.iter().copied());
        if !missing.is_empty() {
            self.session.send(&ServerMessage::Missing { id: self.id, hashes: missing }).await;
        }
        while !pieces.is_complete() {
            let Some(ClientMessage::Content { hash, bytes, more, .. }) = self.more.recv().await else {
                return Err(CallFailure(Failure::Call, "a content did not come".to_owned()));
            };
            pieces.push(hash, &bytes, more).map_err(|why| CallFailure(Failure::Call, why))?;
        }
        found.extend(pieces.take());
        Ok(found)
    }

    async fn warm(&mut self, warm: WarmRequest) -> Result<(), CallFailure> {
        let session = Arc::clone(&self.session);
        let built = tokio::task::spawn_blocking(move || build(&session, &warm));
        let warmed =
            built.await.unwrap_or_else(|error| Err(CallFailure(Failure::NoView, error.to_string())))?;
        self.session.send(&ServerMessage::Warmed(warmed)).await;
        Ok(())
    }
}

/// Ends a view.
pub(super) fn end(session: &ServeSession, view: &ViewId) {
    lock(&session.view_bases).remove(view);
    session.views.end(view);
}

fn written(changes: &ChangeSet) -> impl Iterator<Item = &Content> {
    changes.changes.iter().filter_map(|change| match &change.kind {
        ChangeKind::Write { content, .. } => Some(content),
        _ => None,
    })
}

/// Updates the copy to another state.
fn update_copy(
    session: &ServeSession,
    since: Option<ContentHash>,
    digest: ContentHash,
    edits: &[TreeEdit],
    asks: &mpsc::Sender<ServerMessage>,
    mut more: mpsc::Receiver<ClientMessage>,
) -> Result<(), CallFailure> {
    let failed = |error: io::Error| {
        CallFailure(
            Failure::NoView,
            format!("the copy of the workspace cannot be brought up to date: {error}"),
        )
    };
    let mut copy = session.copy().map_err(failed)?;
    let mut copy = copy.lock().map_err(failed)?;
    let Some(target) = copy.after(since, edits) else {
        let _ = asks.blocking_send(ServerMessage::Unknown { id: 0 });
        return Ok(());
    };
    check(session, &target, digest)?;
    let missing = copy.missing(&target).map_err(failed)?;
    let mut pieces = ContentAssembler::only(missing.iter().copied());
    if !missing.is_empty() {
        let _ = asks.blocking_send(ServerMessage::Missing { id: 0, hashes: missing.into_iter().collect() });
    }
    while !pieces.is_complete() {
        match more.blocking_recv() {
            Some(ClientMessage::Content { hash, bytes, more, .. }) => {
                pieces.push(hash, &bytes, more).map_err(|why| CallFailure(Failure::Call, why))?;
                for content in pieces.take().into_values() {
                    copy.keep(&content).map_err(failed)?;
                }
            }
            Some(ClientMessage::Gone { .. }) => {
                return Err(CallFailure(Failure::TreeChanged, "a file changed while it was sent".to_owned()));
            }
            _ => return Err(CallFailure(Failure::Call, "a content did not come".to_owned())),
        }
    }
    copy.apply(&session.workspace, target).map_err(failed)?;
    let _ = asks.blocking_send(ServerMessage::Ready { id: 0 });
    Ok(())
}

fn check(session: &ServeSession, target: &Manifest, digest: ContentHash) -> Result<(), CallFailure> {
    target.check().map_err(|why| CallFailure(Failure::Call, why))?;
    if target.digest() != digest {
        return Err(CallFailure(
            Failure::Call,
            "the edits do not lead to the state that was named".to_owned(),
        ));
    }
    let most = session.settings.copy_bytes;
    if most < target.bytes() {
        let why = format!(
            "the workspace has {} MiB, and [shadow] copy_bytes allows copies of {} MiB there",
            target.bytes() >> 20,
            most >> 20
        );
        return Err(CallFailure(Failure::NoView, why));
    }
    Ok(())
}

fn build(session: &ServeSession, warm: &WarmRequest) -> Result<WarmResult, CallFailure> {
    let failed = |error: io::Error| CallFailure(Failure::NoView, error.to_string());
    if session.copy().map_err(failed)?.lock().map_err(failed)?.digest() != warm.tree {
        return Err(CallFailure(Failure::TreeChanged, "the workspace is in another state by now".to_owned()));
    }
    let commands: Vec<Command> = warm.lines.iter().map(|line| session.views.layer_command(line)).collect();
    let mut output: Vec<u8> = Vec::new();
    let mut sink = |_: Stream, piece: &[u8]| {
        output.extend_from_slice(piece);
        if 2 * MAX_BUILT < output.len() {
            output.drain(..output.len() - MAX_BUILT);
        }
    };
    let filled = session.views.build_layers(&commands, &DenyRules::default(), drop, &mut sink);
    let filled = filled.map_err(|why| CallFailure(Failure::NoView, why))?;
    let (bytes, why) = match filled.kept {
        Ok(bytes) => (bytes.unwrap_or_default(), None),
        Err(why) => (0, Some(why)),
    };
    Ok(WarmResult {
        id: warm.id,
        output: String::from_utf8_lossy(&output[output.len().saturating_sub(MAX_BUILT)..]).into_owned(),
        exit_code: match filled.end {
            End::Exited { code } => Some(code),
            _ => None,
        },
        folders: filled.folders,
        bytes,
        why,
        millis: u64::try_from(filled.time.as_millis()).unwrap_or(u64::MAX),
    })
}
