//! Runs a command that the user started in a view on another machine, and checks whether that is possible.

use std::sync::Arc;
use std::time::Instant;

use headstart_machine::config::Config;
use headstart_machine::error::CliError;
use headstart_machine::output;
use headstart_machine::remote::Remote;
use headstart_overlay_fs::{ChangeSet, OsTree, TreeError};
use headstart_shadow::{End, ReadBack, Refused};
use headstart_toolbox::{PriorGitChanges, SecretAccess, ToolError, ViewId, ViewOutput, ViewRequest};
use serde::Serialize;

use super::CommandResult;
use super::stored::size;
use crate::args::ShadowRun;

/// The most bytes of a command's output that are returned.
const MAX_OUTPUT: usize = 8 << 20;
/// A file name that no project uses.
const WRITTEN: &str = "headstart-shadow-check";

/// The result of trying another machine.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoteReport {
    command: String,
    /// The program that answers there.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    notes: Vec<String>,
    /// The files and bytes of the workspace that are there now.
    files: usize,
    bytes: u64,
    /// Paths that are not sent although git does not ignore them.
    left_out: Vec<String>,
    /// How long a command that only wrote one file took from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    millis: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

impl RemoteReport {
    /// The result for a person.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self { command, program, notes, files, bytes, left_out, millis, problem } = self;
        let mut lines = Vec::new();
        if let Some(program) = program {
            lines.push(format!("remote: {program} by {command}; commands of work ahead run there"));
            lines.push(format!("sent: {files} files, {}", size(*bytes)));
        }
        lines.extend(notes.iter().map(|note| format!("note: there, {note}")));
        lines.extend(left_out.iter().map(|left| format!("not sent: {left}")));
        match (problem, millis) {
            (Some(problem), _) => lines.push(format!("FAILED: remote: {command}: {problem}")),
            (None, Some(millis)) => {
                lines.push(format!(
                    "ok: a command writes there, and the workspace does not change ({millis} ms)"
                ));
            }
            (None, None) => {}
        }
        lines
    }
}

/// Connects, sends the workspace, and runs a command.
pub(super) async fn check(
    remote: &Remote,
    workspace: &str,
    config: &Config,
) -> Result<RemoteReport, CliError> {
    let rules = config.gate_context(workspace.to_owned())?;
    let mut found = RemoteReport {
        command: remote.name(),
        program: None,
        notes: Vec::new(),
        files: 0,
        bytes: 0,
        left_out: Vec::new(),
        millis: None,
        problem: None,
    };
    let checked = match remote.check(&rules.deny).await {
        Ok(checked) => checked,
        Err(why) => return Ok(RemoteReport { problem: Some(why), ..found }),
    };
    found.program = Some(format!("{} ({})", checked.program, checked.tier));
    found.notes = checked.notes;
    (found.files, found.bytes, found.left_out) = (checked.files, checked.bytes, checked.left_out);
    let request = request(workspace, config, format!("echo x > {WRITTEN}"), ChangeSet::default())?;
    let started = Instant::now();
    let wrote =
        |ran: &ViewOutput| ran.changes.changes.iter().any(|change| change.path.to_string() == WRITTEN);
    match remote.run(request).await {
        Err(error) => found.problem = Some(error.to_string()),
        Ok(ran) if !wrote(&ran) => found.problem = Some("what it wrote did not come back".to_owned()),
        Ok(_) if std::path::Path::new(workspace).join(WRITTEN).exists() => {
            found.problem = Some(format!("{WRITTEN} was written on disk"));
        }
        Ok(_) => found.millis = Some(millis(started)),
    }
    Ok(found)
}

/// Runs the command over the staged changes.
pub(super) async fn run(
    args: &ShadowRun,
    workspace: &str,
    config: &Config,
    remote: &Remote,
    staged: ChangeSet,
) -> Result<CommandResult, CliError> {
    let only_here = [("--keep-ignored", !args.keep_ignored.is_empty()), ("--network", args.network)];
    if let Some((option, _)) = only_here.iter().find(|(_, is_given)| *is_given) {
        let problem = format!("{option} is for views of this machine; add --here");
        return Err(CliError::Unavailable(problem));
    }
    let request = request(workspace, config, line_of(&args.command), staged)?;
    let started = Instant::now();
    let ran = remote.run(request).await.map_err(|error| match error {
        ToolError::NoView { why, .. } => CliError::Unavailable(format!("there is no view: {why}")),
        error => CliError::Unavailable(error.to_string()),
    })?;
    let rules = config.gate_context(workspace.to_owned())?;
    if let Some(change) = ran.changes.changes.iter().find(|change| rules.deny.closes(&change.path, false)) {
        // A view on this machine would not read such a path back either.
        let path = output::one_line(&change.path.to_string());
        let problem = format!("it changes {path}, which your rules close, and nothing of it is taken");
        return Err(CliError::Unavailable(problem));
    }
    let mut notes = ran.notes;
    notes.extend(ran.refused.quota.iter().map(|quota| format!("it reached a limit: {quota}")));
    if ran.output.truncated {
        notes.push(format!("only the first {} of what it printed were kept", size(MAX_OUTPUT as u64)));
    }
    Ok(CommandResult {
        end: match ran.output.exit_code {
            Some(code) => End::Exited { code },
            None if ran.output.timed_out => End::TimeUp,
            None => End::Killed { signal: 9 },
        },
        millis: millis(started),
        said: ran.output.output,
        back: ReadBack {
            changes: ran.changes,
            ignored: ran.warm,
            left_out: ran.left_out,
            torn: ran.torn,
            changed_meanwhile: ran.changed_meanwhile,
            ..ReadBack::default()
        },
        refused: Refused {
            network: ran.refused.network,
            quota: ran.refused.quota.is_some(),
            privileges: ran.refused.privileges,
            tracing: ran.refused.tracing,
            renaming: ran.refused.renaming,
            outside: ran.outside.into_iter().map(Into::into).collect(),
        },
        git: None,
        git_refused: ran.git_refused,
        notes,
    })
}

fn request(
    workspace: &str,
    config: &Config,
    command: String,
    staged: ChangeSet,
) -> Result<ViewRequest, CliError> {
    let failed = |error: TreeError| CliError::Unavailable(error.to_string());
    Ok(ViewRequest {
        printed: None,
        command,
        directory: headstart_overlay_fs::WorkspacePath::root(),
        view: ViewId::new("command"),
        below: Arc::default(),
        staged: Arc::new(staged),
        git: PriorGitChanges::default(),
        base: Arc::new(OsTree::open(workspace).map_err(failed)?),
        deny: config.gate_context(workspace.to_owned())?.deny,
        secrets: SecretAccess::Closed,
        time_limit: config.shadow.time,
        output_limit: MAX_OUTPUT,
    })
}

/// A program and its arguments as a line for bash.
pub(super) fn line_of(words: &[String]) -> String {
    let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
