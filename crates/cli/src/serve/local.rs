//! A command in a view over the workspace itself.

use std::sync::Arc;
use std::time::Duration;

use headstart_machine::views::changed_since;
use headstart_overlay_fs::{OsTree, Overlay, Tree, TreeError};
use headstart_tool_gate::DenyRules;
use headstart_toolbox::exchange::{
    Failure, LocalRunRequest, LocalRunResult, MAX_LINE_BYTES, ServerMessage, encode_line, with_base,
};
use headstart_toolbox::{SecretAccess, ToolError, ViewId, ViewRequest};

use super::ServeSession;
use super::calls::{CallFailure, ServedCall};

impl ServedCall {
    /// Runs a command and answers with what it changed, whose base is what is on this disk and below it.
    pub(super) async fn run_local(&self, run: LocalRunRequest) -> Result<(), CallFailure> {
        let session = self.session_here()?;
        let own = session.deny();
        let rules = own.rules().iter().cloned().chain(run.deny);
        let deny = DenyRules::new(rules).map_err(|error| CallFailure(Failure::Call, error.to_string()))?;
        // What an editor has not saved of a file that rules close is not shown either.
        let mut below = run.below;
        below.changes.retain(|change| !deny.closes(&change.path, run.secrets_open));
        let no_view = |error: TreeError| CallFailure(Failure::NoView, error.to_string());
        let tree = OsTree::open(&session.tree).map_err(no_view)?;
        let below = with_base(&tree, below).await.map_err(no_view)?;
        let base = Arc::new(Overlay::new(Arc::new(tree), session.quota));
        base.replace(&below).map_err(ToolError::from)?;
        let staged = with_base(&*base, run.staged).await.map_err(no_view)?;
        let ran = session.views.run(ViewRequest {
            printed: None,
            command: run.command,
            directory: run.directory,
            view: ViewId::new(&run.view),
            below: Arc::new(below),
            staged: Arc::new(staged),
            git: run.git,
            base: base as Arc<dyn Tree>,
            deny,
            secrets: if run.secrets_open { SecretAccess::Open } else { SecretAccess::Closed },
            time_limit: Duration::from_millis(run.time_ms),
            output_limit: run.output_bytes,
        });
        let told = ServerMessage::RanLocal(Box::new(LocalRunResult::of(self.id, &ran.await?)));
        let line = encode_line(&told);
        if MAX_LINE_BYTES < line.len() {
            let why = format!("what it changed is more than a message of {} MiB holds", MAX_LINE_BYTES >> 20);
            return Err(CallFailure(Failure::Quota, why));
        }
        // If this fails, the client has disconnected, and the stream of its messages ends too.
        let _ = session.out.send(line).await;
        Ok(())
    }

    /// Answers with the files that changed since a moment.
    pub(super) async fn changed_since(&self, since_ms: u64) -> Result<(), CallFailure> {
        let session = self.session_here()?;
        let tree = session.tree.clone();
        let changed = tokio::task::spawn_blocking(move || changed_since(&tree, since_ms)).await;
        let paths = changed.map_err(|error| CallFailure(Failure::Call, error.to_string()))?;
        session.send(&ServerMessage::Changed { id: self.id, paths }).await;
        Ok(())
    }

    /// The session, if its views are over the workspace itself.
    pub(super) fn session_here(&self) -> Result<&ServeSession, CallFailure> {
        if self.session.copy.is_some() {
            let why = "the views are over a copy, because no folder was named when this was started";
            return Err(CallFailure(Failure::NoView, why.to_owned()));
        }
        Ok(&self.session)
    }
}
