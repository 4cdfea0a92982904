use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_overlay_fs::{EntryKind, Tree};
use headstart_tool_gate::{BuiltinTool, ConditionalCommand};
use serde_json::{Map, Value, json};

use super::schema;
use crate::arguments::Arguments;
use crate::content::cut;
use crate::location::locate;
use crate::output::error_within;
use crate::{
    CommandOutput, CommandRequest, CommandRunner, Secrets, Surroundings, Tool, ToolContext, ToolError,
};

/// Runs a command through the host's runner, in the real tree. Whether it may run was decided before.
pub(crate) struct Shell {
    runner: Arc<dyn CommandRunner>,
}

impl Shell {
    pub(crate) fn new(runner: Arc<dyn CommandRunner>) -> Self {
        Self { runner }
    }
}

#[async_trait]
impl Tool for Shell {
    fn schema(&self) -> ToolSchema {
        schema(
            BuiltinTool::Shell,
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

    async fn run(&self, args: &Map<String, Value>, context: ToolContext<'_>) -> Result<String, ToolError> {
        let arguments = Arguments::new(BuiltinTool::Shell, args, &["command", "directory", "description"])?;
        let command = arguments.required_text("command")?;
        let directory = arguments.path()?;
        arguments.text("description")?;
        if command.trim().is_empty() {
            return Err(arguments.invalid("the argument command is empty; give a command line"));
        }
        if command.contains('\0') {
            return Err(arguments.invalid("the argument command contains a NUL byte"));
        }
        let directory = locate(directory.unwrap_or("."), context).await?;
        if context.view.metadata(&directory).await?.kind != EntryKind::Directory {
            return Err(ToolError::Failed { message: format!("{directory} is not a directory") });
        }
        let request = CommandRequest {
            command: ConditionalCommand::allowed(command, context.hardened),
            directory,
            surroundings: if context.consented { Surroundings::Users } else { Surroundings::Clean },
            secrets: if context.consented || !context.gate.deny.closes_secrets() {
                Secrets::Open
            } else {
                Secrets::Closed
            },
            time_limit: context.limits.command_time,
            output_limit: context.limits.output_bytes,
        };
        let limit = context.limits.output_bytes;
        let done = self.runner.run(request).await.map_err(|error| error_within(error, limit))?;
        Ok(told(&done, context))
    }
}

fn told(done: &CommandOutput, context: ToolContext<'_>) -> String {
    // A runner keeps to the limit, but for its own remark where it cut.
    let shown = cut(&done.output, context.limits.output_bytes.saturating_add(200));
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
    match done.exit_code {
        _ if done.timed_out => {
            let limit = context.limits.command_time;
            notes.push(format!("ended after {} s, the limit of time", seconds(limit)));
        }
        Some(0) => {}
        Some(code) => notes.push(format!("exit code {code}")),
        None => notes.push("ended by a signal".to_owned()),
    }
    let notes = notes.into_iter().map(|note| format!("[{note}]"));
    let printed = Some(printed.to_owned()).filter(|printed| !printed.is_empty());
    printed.into_iter().chain(notes).collect::<Vec<_>>().join("\n")
}

/// Seconds with as many decimals as they need.
fn seconds(time: Duration) -> String {
    let all = format!("{}.{:09}", time.as_secs(), time.subsec_nanos());
    all.trim_end_matches('0').trim_end_matches('.').to_owned()
}
