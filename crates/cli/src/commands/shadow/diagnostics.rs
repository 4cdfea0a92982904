//! `headstart shadow diagnostics`: what language servers report for files, with the work of a speculation included.

use std::sync::Arc;
use std::time::Duration;

use headstart_code_intel::{Delta, Severity, Snapshot};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::{intel, output};
use headstart_overlay_fs::ChangeSet;
use headstart_toolbox::ViewSupport;
use serde::Serialize;

use super::{open, staged_by};
use crate::args::ShadowDiagnostics;

/// The time limit for an answer, because the server may have to be started first.
const QUESTION: Duration = Duration::from_secs(120);

/// The output with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "shadowDiagnostics", rename_all = "camelCase")]
struct DiagnosticsReport<'a> {
    #[serde(flatten)]
    delta: &'a Delta,
}

pub(super) async fn run(args: &ShadowDiagnostics, context: &Context) -> Result<ExitStatus, CliError> {
    let staged = match &args.speculation {
        Some(id) => staged_by(id, &args.workspace, context)?.0,
        None => ChangeSet::default(),
    };
    let (workspace, config, views) = open(&args.workspace, context)?;
    if let ViewSupport::None { why } = views.support() {
        return Err(CliError::Unavailable(format!(
            "there is no view here to run a language server in: {why}"
        )));
    }
    let rules = config.gate_context(workspace.clone())?;
    let paths = intel::paths(&args.files, &workspace)?;
    if let Some(closed) = paths.iter().find(|path| rules.denies(path)) {
        return Err(CliError::Unavailable(format!("{closed} is closed by a rule")));
    }
    let servers =
        intel::start(&config, &workspace, &context.environment, &Arc::new(views), &rules.deny, QUESTION)?;
    let deny = rules.deny.clone();
    let snapshot =
        Snapshot { changes: Arc::new(staged), closed: Arc::new(move |path| deny.closes(path, false)) };
    let asked = servers.diagnostics(&snapshot, &paths, Severity::Warning).await;
    let delta = asked.map_err(|error| CliError::Unavailable(error.to_string()))?;
    if context.output.is_json() {
        output::print_json(&DiagnosticsReport { delta: &delta })?;
    } else {
        output::print(&page(&delta))?;
    }
    Ok(if 0 < delta.new_errors { ExitStatus::Failed } else { ExitStatus::Done })
}

fn page(delta: &Delta) -> String {
    let mut lines = Vec::new();
    let lists = [
        ("new", delta.new_count, &delta.new),
        ("gone", delta.gone_count, &delta.gone),
        ("old", delta.old_count, &delta.old),
    ];
    for (title, count, shown) in lists.into_iter().filter(|(_, count, _)| 0 < *count) {
        lines.push(format!("{title} ({count}):"));
        lines.extend(shown.iter().map(|one| format!("  {}", output::one_line(&one.line_for_model()))));
        if shown.len() < count {
            lines.push(format!("  and {} more", count - shown.len()));
        }
    }
    if lines.is_empty() {
        lines.push("nothing to tell".to_owned());
    }
    lines.extend(delta.partial.as_ref().map(|why| format!("there may be more: {}", output::one_line(why))));
    lines.push(String::new());
    lines.join("\n")
}
