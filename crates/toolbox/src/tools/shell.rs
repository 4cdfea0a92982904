use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_forked_query::{CONTENT, ToolSchema};
use headstart_overlay_fs::{ChangeSet, EntryKind, Tree, WorkspacePath};
use headstart_tool_gate::{ConditionalCommand, DenyRules, built_in};
use serde_json::{Map, Value, json};
use tracing::{debug, trace};

use super::schema;
use crate::arguments::Arguments;
use crate::location::locate;
use crate::output::{truncate_error, truncate_str};
use crate::{
    CommandEnvironment, CommandOutput, CommandRequest, CommandRunner, ContextItem, PartialOutput,
    PriorGitChanges, SecretAccess, Tool, ToolContext, ToolError, ToolOutput, ViewCallOutput, ViewId,
    ViewOutput, ViewRequest, ViewSupport,
};

/// Runs a command through the host's runner, in the real tree. Whether it may run was decided before.
pub(crate) struct Shell {
    runner: Arc<dyn CommandRunner>,
}

impl Shell {
    pub(crate) fn new(runner: Arc<dyn CommandRunner>) -> Self {
        Self { runner }
    }

    /// Runs a command in the workspace, and passes on what it prints.
    pub(crate) async fn run_streaming(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
        output_sink: Option<&dyn PartialOutput>,
    ) -> Result<ToolOutput, ToolError> {
        let (command, directory) = parse_arguments(args, context).await?;
        let request = CommandRequest {
            command: ConditionalCommand::allowed(command, context.hardened),
            directory: directory.clone(),
            environment: if context.consented { CommandEnvironment::User } else { CommandEnvironment::Clean },
            secrets: secrets(context),
            deny: if context.consented { DenyRules::default() } else { context.gate.deny.clone() },
            time_limit: context.limits.command_time,
            output_limit: context.limits.output_bytes,
        };
        let limit = context.limits.output_bytes;
        let done = match output_sink {
            Some(output_sink) => self.runner.run_streaming(request, output_sink).await,
            None => self.runner.run(request).await,
        };
        match &done {
            Ok(done) => debug!(
                exit_code = done.exit_code,
                timed_out = done.timed_out,
                bytes = done.output.len(),
                users = context.consented,
                "a command ran"
            ),
            Err(error) => not_run(error),
        }
        let done = done.map_err(|error| truncate_error(error, limit))?;
        Ok(render_result(command, &done, closed_reads(&done, &directory, context), context))
    }

    pub(crate) fn views(&self) -> ViewSupport {
        self.runner.views()
    }

    pub(crate) fn end_view(&self, view: &ViewId) {
        self.runner.end_view(view);
    }

    /// Runs a command in a view, over what is staged in the context's overlay.
    pub(crate) async fn run_in_view(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
        view: (&ViewId, Option<Arc<dyn PartialOutput>>),
        below: Arc<ChangeSet>,
        git: PriorGitChanges,
    ) -> Result<ViewCallOutput, ToolError> {
        let (command, directory) = parse_arguments(args, context).await?;
        self.run_line_in_view(command, directory, context, view, below, git).await
    }

    /// As [`run_in_view`](Self::run_in_view), for a line that no model wrote.
    pub(crate) async fn run_line_in_view(
        &self,
        command: &str,
        directory: WorkspacePath,
        context: ToolContext<'_>,
        (view, printed): (&ViewId, Option<Arc<dyn PartialOutput>>),
        below: Arc<ChangeSet>,
        git: PriorGitChanges,
    ) -> Result<ViewCallOutput, ToolError> {
        let limit = context.limits.output_bytes;
        let staged = Arc::new(context.view.change_set());
        let request = ViewRequest {
            command: command.to_owned(),
            directory,
            view: view.clone(),
            below,
            git,
            staged: Arc::clone(&staged),
            base: Arc::clone(context.view.base()),
            deny: context.gate.deny.clone(),
            secrets: secrets(context),
            time_limit: context.limits.command_time,
            output_limit: limit,
            printed,
        };
        let ran = self.runner.run_in_view(request).await;
        match &ran {
            Ok(ran) => debug!(
                seconds = ran.cost.time.as_secs_f64(),
                exit_code = ran.output.exit_code,
                timed_out = ran.output.timed_out,
                network = ran.refused.network,
                "a command ran in a view"
            ),
            Err(error) => not_run(error),
        }
        let ran = ran.map_err(|error| truncate_error(error, limit))?;
        let output = render_result(command, &ran.output, remarks(&ran, &staged), context);
        Ok(ViewCallOutput { output, ran })
    }
}

#[async_trait]
impl Tool for Shell {
    fn schema(&self) -> ToolSchema {
        schema(
            &built_in::SHELL,
            "Runs a command with bash and returns what it prints, its exit code where it is not 0, and notes in square \
             brackets. There is no terminal and no input. What it starts in the background ends with it.",
            &json!({
                "command": { "type": "string", "description": "The command line, for bash -c." },
                "directory": {
                    "type": "string",
                    "description": "The folder to run it in: relative to the workspace, or absolute inside it. \
                                    Default: the workspace."
                },
                "description": { "type": "string", "description": "What it is for, in a few words, for the user." },
            }),
            &["command"],
        )
    }

    fn check_arguments(&self, args: &Map<String, Value>) -> Result<(), ToolError> {
        command_line(args).map(|_| ())
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        self.run_streaming(args, context, None).await
    }
}

fn not_run(error: &ToolError) {
    debug!("a command did not run");
    trace!(target: CONTENT, %error, "why it did not");
}

/// The command line of a call, and its folder, which must exist.
async fn parse_arguments<'a>(
    args: &'a Map<String, Value>,
    context: ToolContext<'_>,
) -> Result<(&'a str, WorkspacePath), ToolError> {
    let (command, directory) = command_line(args)?;
    Ok((command, in_folder(directory, context).await?))
}

/// The command line of a call, and its folder as it is written.
fn command_line(args: &Map<String, Value>) -> Result<(&str, Option<&str>), ToolError> {
    let arguments = Arguments::new(&built_in::SHELL, args, &["command", "directory", "description"])?;
    let command = required_command(&arguments)?;
    let directory = arguments.path()?;
    arguments.text("description")?;
    Ok((command, directory))
}

/// The argument that is the command line.
pub(crate) fn required_command<'a>(arguments: &Arguments<'a>) -> Result<&'a str, ToolError> {
    let command = arguments.required_text("command")?;
    if command.trim().is_empty() {
        return Err(arguments.invalid("the argument command is empty; give a command line"));
    }
    if command.contains('\0') {
        return Err(arguments.invalid("the argument command contains a NUL byte"));
    }
    Ok(command)
}

/// The folder in which a command runs. It must exist.
pub(crate) async fn in_folder(
    directory: Option<&str>,
    context: ToolContext<'_>,
) -> Result<WorkspacePath, ToolError> {
    let directory = locate(directory.unwrap_or("."), context).await?;
    if context.view.metadata(&directory).await?.kind != EntryKind::Directory {
        return Err(ToolError::failed(format!("{directory} is not a directory")));
    }
    Ok(directory)
}

fn secrets(context: ToolContext<'_>) -> SecretAccess {
    if context.consented { SecretAccess::Open } else { SecretAccess::of(&context.gate.deny) }
}

/// The most paths that one remark names.
const MAX_NAMED: usize = 10;

/// What the model should know about a command in a view, besides its output.
fn remarks(ran: &ViewOutput, staged: &ChangeSet) -> Vec<String> {
    let mut remarks = Vec::new();
    // The changes of a command that the time limit ended are not staged.
    let changed = if ran.output.timed_out { Vec::new() } else { ran.changed_since(staged) };
    if !changed.is_empty() {
        let named: Vec<_> = changed.iter().take(MAX_NAMED).map(ToString::to_string).collect();
        let more = changed.len().saturating_sub(MAX_NAMED);
        let more = if 0 < more { format!(" and {more} more") } else { String::new() };
        remarks.push(format!("changed: {}{more}", named.join(", ")));
    }
    if 0 < ran.refused.network {
        remarks.push("it looked for a network, and there is none for work that runs ahead".to_owned());
    }
    remarks.extend(ran.refused.quota.iter().map(|quota| format!("it reached a limit: {quota}")));
    remarks.extend(ran.notes.iter().cloned());
    remarks
}

/// What a confined command was not let read, so that neither the system's words nor the exit code are taken for what it
/// found. `grep -r` ends with 2 where a single file is closed to it.
fn closed_reads(done: &CommandOutput, directory: &WorkspacePath, context: ToolContext<'_>) -> Vec<String> {
    if context.consented {
        return Vec::new();
    }
    let closed = |line: &str| {
        let before =
            line.strip_suffix(" (os error 13)").unwrap_or(line).strip_suffix(": Permission denied")?;
        let named = before.rsplit(": ").next()?.trim_matches(['\'', '"', '‘', '’']);
        let absolute = named.starts_with('/').then(|| WorkspacePath::resolve(named, &context.gate.workspace));
        let path = absolute.unwrap_or_else(|| directory.join(named)).ok()?;
        context.gate.deny.closes(&path, false).then(|| path.to_string())
    };
    let mut names: Vec<_> = done.output.lines().filter_map(closed).collect();
    names.dedup();
    names.truncate(MAX_NAMED);
    if names.is_empty() {
        return Vec::new();
    }
    let names = names.join(", ");
    let code = match done.exit_code {
        Some(0) => "",
        _ => "; an exit code may come of that alone",
    };
    vec![format!("closed by headstart to commands that run unasked, and not read: {names}{code}")]
}

/// The output as an item if the command did not end well, because then there is a status to list.
fn render_result(
    command: &str,
    done: &CommandOutput,
    remarks: Vec<String>,
    context: ToolContext<'_>,
) -> ToolOutput {
    // A runner keeps to the limit, except for its own remark about the cut.
    let shown = truncate_str(&done.output, context.limits.output_bytes.saturating_add(200));
    let printed = shown.trim_end_matches('\n');
    let mut notes = Vec::new();
    if printed.is_empty() {
        notes.push("no output".to_owned());
    }
    if done.truncated || shown.len() < done.output.len() {
        notes.push(
            "the output was cut; print less of it, with head, tail or grep, to see the rest".to_owned(),
        );
    }
    let status = match done.exit_code {
        _ if done.timed_out => {
            Some(format!("ended after {} s, the limit of time", seconds(context.limits.command_time)))
        }
        Some(0) => None,
        Some(code) => Some(format!("exit code {code}")),
        None => Some("ended by a signal".to_owned()),
    };
    notes.extend(status.clone());
    notes.extend(remarks);
    let notes = notes.into_iter().map(|note| format!("[{note}]"));
    let printed = Some(printed.to_owned()).filter(|printed| !printed.is_empty());
    let answer = printed.into_iter().chain(notes).collect::<Vec<_>>().join("\n");
    if status.is_none() {
        return ToolOutput::Text(answer);
    }
    let (name, description) = ("command".to_owned(), command.to_owned());
    ToolOutput::of([ContextItem { name, description, content: answer, status, ..ContextItem::default() }])
}

/// Seconds with as many decimals as they need.
fn seconds(time: Duration) -> String {
    let all = format!("{}.{:09}", time.as_secs(), time.subsec_nanos());
    all.trim_end_matches('0').trim_end_matches('.').to_owned()
}
