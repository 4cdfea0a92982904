//! Commands of work ahead in views, which the developer's program makes.

use std::sync::Arc;
use std::time::Duration;

use headstart_git_ahead::GitChange;
use headstart_overlay_fs::{ChangeSet, Overlay, Quota, WorkspacePath};
use headstart_tool_gate::DenyRule;
use headstart_toolbox::{
    CommandOutput, PriorGitChanges, SecretAccess, Tier, ToolError, ViewCost, ViewOutput, ViewRefusals,
    ViewRequest, ViewSupport,
};
use serde::{Deserialize, Serialize};

use crate::failure::json;
use crate::input::parse;
use crate::overlay::OverlayHandle;
use crate::port::Callbacks;
use crate::tools::success_code;

/// [`ViewRequest`] in JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ViewFields<'a> {
    view: &'a str,
    command: &'a str,
    directory: String,
    below: &'a ChangeSet,
    staged: &'a ChangeSet,
    deny: &'a [DenyRule],
    #[serde(skip_serializing_if = "PriorGitChanges::is_empty")]
    git: &'a PriorGitChanges,
    secrets: &'static str,
    time_limit_ms: u64,
    output_limit: usize,
}

/// [`ViewOutput`] in JSON, without the changes, which the developer's program stages.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ViewAnswer {
    output: String,
    #[serde(default = "success_code")]
    exit_code: Option<i32>,
    #[serde(default)]
    timed_out: bool,
    #[serde(default)]
    truncated: bool,
    #[serde(default)]
    outside: Vec<String>,
    #[serde(default)]
    refused: ViewRefusals,
    #[serde(default)]
    changed_meanwhile: Vec<WorkspacePath>,
    #[serde(default)]
    notes: Vec<String>,
    git: Option<GitChange>,
    git_refused: Option<String>,
    #[serde(default)]
    began_ms: u64,
    #[serde(default)]
    time_ms: f64,
}

/// Whether there are views at this moment.
pub(crate) fn support(callbacks: &Callbacks) -> ViewSupport {
    let tier = match callbacks.view_tier().as_deref() {
        Some("kernel") => Tier::Kernel,
        Some("clone") => Tier::Clone,
        Some("copy") => Tier::Copy,
        _ => return ViewSupport::default(),
    };
    ViewSupport::Views { tier }
}

/// Has a command run in a view. If that fails in whatever way, nothing of it is staged and the work stops before it.
pub(crate) async fn run(callbacks: &Callbacks, request: ViewRequest) -> Result<ViewOutput, ToolError> {
    let fields = json(&ViewFields {
        view: request.view.as_str(),
        command: &request.command,
        directory: request.directory.to_string(),
        below: &request.below,
        staged: &request.staged,
        deny: request.deny.rules(),
        git: &request.git,
        secrets: match request.secrets {
            SecretAccess::Closed => "closed",
            SecretAccess::Open => "open",
        },
        time_limit_ms: u64::try_from(request.time_limit.as_millis()).unwrap_or(u64::MAX),
        output_limit: request.output_limit,
    });
    let overlay = Arc::new(Overlay::new(Arc::clone(&request.base), Quota::default()));
    let answers = callbacks.view(&fields, OverlayHandle::of(Arc::clone(&overlay)));
    let answer = answers.single().await.map_err(|failure| ToolError::no_view(failure.message))?;
    let answer: ViewAnswer =
        parse("output", &answer).map_err(|failure| ToolError::no_view(failure.message))?;
    let ViewAnswer { output, exit_code, timed_out, truncated, .. } = answer;
    let ran = CommandOutput { output, exit_code, timed_out, truncated };
    // What was looked at to stage the changes was not read by the work.
    let changes = ChangeSet { reads: Vec::new(), ..overlay.change_set() };
    Ok(ViewOutput {
        outside: answer.outside,
        refused: answer.refused,
        changed_meanwhile: answer.changed_meanwhile,
        notes: answer.notes,
        git: answer.git,
        git_refused: answer.git_refused,
        began_ms: answer.began_ms,
        cost: ViewCost {
            time: Duration::try_from_secs_f64(answer.time_ms / 1000.0).unwrap_or_default(),
            ..ViewCost::default()
        },
        ..ViewOutput::of(ran, changes)
    })
}

/// The files that changed on disk since a moment. Without an answer none are known.
pub(crate) async fn changed_since(callbacks: &Callbacks, unix_ms: u64) -> Vec<WorkspacePath> {
    #[expect(clippy::cast_precision_loss, reason = "JavaScript's numbers hold all moments in milliseconds")]
    let answers = callbacks.changed_since(unix_ms as f64);
    answers.single().await.and_then(|answer| parse("changedSince", &answer)).unwrap_or_default()
}
