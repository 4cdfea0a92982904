//! The tools for commands that run while the conversation goes on.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use headstart_forked_query::ToolSchema;
use headstart_tool_gate::{ConditionalCommand, DenyRules, ours};
use serde_json::{Map, Value, json};

use crate::arguments::Arguments;
use crate::tools::{in_folder, required_command};
use crate::{CommandEnvironment, CommandRequest, SecretAccess, Tool, ToolContext, ToolError, ToolOutput};

/// The longest time that a call may wait for output, and the default.
const MAX_WAIT: Duration = Duration::from_secs(60);
const DEFAULT_WAIT: Duration = Duration::from_secs(5);
/// How long a new command is watched, so that one which fails at once is reported.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The bytes of an output that are reserved for notes.
const FOR_NOTES: usize = 512;

/// Runs commands that go on after the call that started them.
///
/// # Guarantees
///
/// A command and what it started end with the program that holds this, however that ends, except processes that leave
/// its process group. Standard input is empty. Of the output, 1 MiB is kept until it is asked for, and what was lost
/// is counted.
#[async_trait]
pub trait BackgroundRunner: Send + Sync {
    /// Starts a command that the user approved, and returns its number. The limits of the request are ignored.
    async fn start(&self, request: CommandRequest) -> Result<usize, ToolError>;

    /// What it printed since this was last called. Returns when it has printed something and pauses, when it has
    /// ended, or when `wait` is over. `None` if there is no such command.
    async fn output(&self, number: usize, wait: Duration) -> Option<BackgroundOutput>;

    /// Ends it, and returns the rest of its output.
    async fn stop(&self, number: usize) -> Option<BackgroundOutput>;
}

/// What a command printed, and whether it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundOutput {
    /// Standard output and standard error, in the order they came.
    pub printed: String,
    /// The number of bytes before that which were not kept.
    pub left_out: usize,
    /// Whether it runs.
    pub state: BackgroundState,
    /// How long it has been running, or ran.
    pub time: Duration,
}

/// Whether a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundState {
    /// It runs.
    Running,
    /// It ended with this exit code, or (`None`) by a signal.
    Ended(Option<i32>),
}

/// `run_in_background`, `command_output` and `stop_command`.
pub(super) fn tools(runner: &Arc<dyn BackgroundRunner>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(RunInBackground(Arc::clone(runner))),
        Arc::new(CommandOutputTool(Arc::clone(runner))),
        Arc::new(StopCommand(Arc::clone(runner))),
    ]
}

struct RunInBackground(Arc<dyn BackgroundRunner>);

#[async_trait]
impl Tool for RunInBackground {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::RUN_IN_BACKGROUND.name,
            "Starts a command with bash that runs on while you go on, such as a server or a watcher, and gives its number for command_output and \
             stop_command. It ends with the conversation. For a command that ends by itself use shell.",
            &json!({
                "command": { "type": "string", "description": "The command line, for bash -c." },
                "directory": {
                    "type": "string",
                    "description": "The folder to run it in: relative to the workspace, or absolute inside it. Default: the workspace."
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
        let (command, directory) = command_line(args)?;
        let directory = in_folder(directory, context).await?;
        if !context.consented {
            let message = "a command runs in the background only where its user agreed to it".to_owned();
            return Err(ToolError::failed(message));
        }
        let request = CommandRequest {
            command: ConditionalCommand::approved(command),
            directory,
            environment: CommandEnvironment::User,
            secrets: SecretAccess::Open,
            deny: DenyRules::default(),
            time_limit: Duration::MAX,
            output_limit: context.limits.output_bytes,
        };
        let number = self.0.start(request).await?;
        let output = self.0.output(number, FIRST_WAIT).await.ok_or_else(|| unknown(number))?;
        Ok(format!("command {number} is started\n{}", render_output(&output, context)).into())
    }
}

/// The command line of a call that starts a command, and its folder as it is written.
fn command_line(args: &Map<String, Value>) -> Result<(&str, Option<&str>), ToolError> {
    let arguments = Arguments::new(&ours::RUN_IN_BACKGROUND, args, &["command", "directory", "description"])?;
    let command = required_command(&arguments)?;
    arguments.text("description")?;
    Ok((command, arguments.text("directory")?))
}

struct CommandOutputTool(Arc<dyn BackgroundRunner>);

#[async_trait]
impl Tool for CommandOutputTool {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::COMMAND_OUTPUT.name,
            "Gives what a command of run_in_background has printed since it was last asked for, and whether it still runs. Waits until there is something.",
            &json!({
                "number": { "type": "integer", "description": "The command's number." },
                "wait_seconds": { "type": "integer", "description": "As long to wait for output at most: 0 to 60. Default: 5." },
            }),
            &["number"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Arguments::new(&ours::COMMAND_OUTPUT, args, &["number", "wait_seconds"])?;
        let number = number(&arguments)?;
        let wait = arguments.count("wait_seconds")?.map(|seconds| Duration::from_secs(seconds as u64));
        let output = self.0.output(number, wait.unwrap_or(DEFAULT_WAIT).min(MAX_WAIT)).await;
        Ok(render_output(&output.ok_or_else(|| unknown(number))?, context).into())
    }
}

struct StopCommand(Arc<dyn BackgroundRunner>);

#[async_trait]
impl Tool for StopCommand {
    fn schema(&self) -> ToolSchema {
        ToolSchema::of(
            &ours::STOP_COMMAND.name,
            "Ends a command of run_in_background and all that it started.",
            &json!({ "number": { "type": "integer", "description": "The command's number." } }),
            &["number"],
        )
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Arguments::new(&ours::STOP_COMMAND, args, &["number"])?;
        let number = number(&arguments)?;
        let output = self.0.stop(number).await.ok_or_else(|| unknown(number))?;
        Ok(render_output(&output, context).into())
    }
}

fn number(arguments: &Arguments<'_>) -> Result<usize, ToolError> {
    arguments
        .count("number")?
        .ok_or_else(|| arguments.invalid("the argument number is missing; give a number"))
}

fn unknown(number: usize) -> ToolError {
    ToolError::failed(format!("there is no command {number} in the background"))
}

/// The end of the output, with remarks.
fn render_output(output: &BackgroundOutput, context: ToolContext<'_>) -> String {
    let printed = output.printed.trim_end_matches('\n');
    let most = context.limits.output_bytes.saturating_sub(FOR_NOTES);
    let start = (printed.len().saturating_sub(most)..=printed.len()).find(|at| printed.is_char_boundary(*at));
    let start = start.unwrap_or_default();
    let left_out = output.left_out + start;
    let mut lines = Vec::new();
    if 0 < left_out {
        lines.push(format!("[{left_out} bytes before this are left out]"));
    }
    let is_quiet = printed.is_empty();
    lines.push(if is_quiet { "[no new output]".to_owned() } else { printed[start..].to_owned() });
    let seconds = output.time.as_secs();
    lines.push(match output.state {
        BackgroundState::Running => format!("[it runs, since {seconds} s]"),
        BackgroundState::Ended(Some(code)) => format!("[it ended after {seconds} s, exit code {code}]"),
        BackgroundState::Ended(None) => format!("[it ended after {seconds} s, by a signal]"),
    });
    lines.join("\n")
}
