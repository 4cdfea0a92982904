use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{Either, select};
use headstart_context::{create_rule_tool, request_rule_tool};
use headstart_forked_query::ToolSchema;
use headstart_speculation::task_tool;
use headstart_tool_gate::{Declaration, Probed, Probes, ProvenCommand, Unproven, clean_environment};
use headstart_toolbox::{
    CommandEnvironment, CommandOutput, CommandRequest, CommandRunner, ContextItem, PARTIAL_OUTPUT_BYTES,
    PartialOutput, SecretAccess, Tool, ToolContext, ToolError, ToolOutput, Toolbox, ViewId, ViewOutput,
    ViewRequest, ViewSupport, more_tools,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::{Failure, json};
use crate::input::parse;
use crate::overlay::OverlayHandle;
use crate::port::{Answers, Callbacks};
use crate::{tool_rules, views};

/// The character before a text that a command has printed; no JSON begins with it.
const OUTPUT_PREFIX: char = '+';

/// The developer's runner for commands.
pub(crate) struct PortRunner(pub(crate) Arc<Callbacks>);

/// [`CommandRequest`] in JSON, after its probes were answered.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CommandFields {
    command: String,
    directory: String,
    environment: BTreeMap<String, String>,
    consented: bool,
    secrets: &'static str,
    deny: Vec<String>,
    time_limit_ms: u64,
    output_limit: usize,
}

/// [`CommandOutput`] in JSON.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunnerOutput {
    output: String,
    #[serde(default = "success_code")]
    exit_code: Option<i32>,
    #[serde(default)]
    timed_out: bool,
    #[serde(default)]
    truncated: bool,
}

/// The default for an exit code that is left out; `null` says that a signal ended the command.
#[expect(clippy::unnecessary_wraps, reason = "a default of serde has the type of its field")]
pub(crate) fn success_code() -> Option<i32> {
    Some(0)
}

#[async_trait]
impl CommandRunner for PortRunner {
    async fn run(&self, request: CommandRequest) -> Result<CommandOutput, ToolError> {
        self.run_command(&request, None).await
    }

    async fn run_streaming(
        &self,
        request: CommandRequest,
        output_sink: &dyn PartialOutput,
    ) -> Result<CommandOutput, ToolError> {
        self.run_command(&request, Some(output_sink)).await
    }

    fn views(&self) -> ViewSupport {
        views::support(&self.0)
    }

    async fn run_in_view(&self, request: ViewRequest) -> Result<ViewOutput, ToolError> {
        views::run(&self.0, request).await
    }

    fn end_view(&self, view: &ViewId) {
        self.0.end_view(view.as_str());
    }
}

impl PortRunner {
    async fn run_command(
        &self,
        request: &CommandRequest,
        output_sink: Option<&dyn PartialOutput>,
    ) -> Result<CommandOutput, ToolError> {
        // The developer's own clock comes first, because the developer has what was printed so far.
        let deadline = request.time_limit.saturating_add(Duration::from_secs(1));
        match select(pin!(self.answer(request, output_sink)), pin!(self.0.sleep(deadline).elapsed())).await {
            Either::Left((answer, _)) => {
                let ran: RunnerOutput = parse("output", &answer?).map_err(tool_error)?;
                let RunnerOutput { output, exit_code, timed_out, truncated } = ran;
                Ok(CommandOutput { output, exit_code, timed_out, truncated })
            }
            Either::Right(_) => Ok(CommandOutput {
                output: String::new(),
                exit_code: None,
                timed_out: true,
                truncated: false,
            }),
        }
    }

    /// The answer of the developer's runner, which gets the command only after its probes are answered.
    async fn answer(
        &self,
        request: &CommandRequest,
        output_sink: Option<&dyn PartialOutput>,
    ) -> Result<String, ToolError> {
        let mut probes = Probes::default();
        loop {
            match request.command.prove(&probes) {
                Ok(proven) => {
                    let request = json(&CommandFields::of(request, proven));
                    return final_answer(self.0.command(&request), output_sink).await.map_err(tool_error);
                }
                Err(Unproven::Unmet(need)) => return Err(ToolError::of(need)),
                Err(Unproven::Look(probe)) => {
                    let answer = self.0.look(&json(&probe)).single().await.map_err(tool_error)?;
                    let seen: Probed = parse("look", &answer).map_err(tool_error)?;
                    probes.add(probe, seen);
                }
            }
        }
    }
}

/// The last of the answers; those before it are what the command has printed so far.
async fn final_answer(
    mut answers: Answers,
    output_sink: Option<&dyn PartialOutput>,
) -> Result<String, Failure> {
    loop {
        let answer = answers.next().await?.unwrap_or_default();
        let Some(printed) = answer.strip_prefix(OUTPUT_PREFIX) else { return Ok(answer) };
        if let Some(output_sink) = output_sink {
            output_sink.on_output(tail(printed));
        }
    }
}

/// The end of a text, as much as is told.
fn tail(printed: &str) -> &str {
    let least = printed.len().saturating_sub(PARTIAL_OUTPUT_BYTES);
    let from = (least..printed.len()).find(|&at| printed.is_char_boundary(at)).unwrap_or(printed.len());
    &printed[from..]
}

impl CommandFields {
    fn of(request: &CommandRequest, proven: ProvenCommand<'_>) -> Self {
        let consented = request.environment == CommandEnvironment::User;
        // A home that does not exist has no configuration that could name a program.
        let mut environment = if consented { BTreeMap::new() } else { clean_environment("/nonexistent") };
        environment.extend(proven.environment.clone());
        Self {
            command: proven.line.to_owned(),
            directory: request.directory.to_string(),
            environment,
            consented,
            secrets: match request.secrets {
                SecretAccess::Closed => "closed",
                SecretAccess::Open => "open",
            },
            deny: request.deny.rules().iter().map(|rule| rule.0.clone()).collect(),
            time_limit_ms: u64::try_from(request.time_limit.as_millis()).unwrap_or(u64::MAX),
            output_limit: request.output_limit,
        }
    }
}

/// A tool of the developer. The gate only knows the tools that only read, as the developer says; every other one is a
/// boundary, and the user is asked about it in a turn.
struct PortTool {
    schema: ToolSchema,
    number: usize,
    callbacks: Arc<Callbacks>,
}

/// The answer of a developer's tool: a text, or items.
#[derive(Deserialize)]
struct ToolAnswer {
    text: Option<String>,
    #[serde(default)]
    items: Vec<ContextItem>,
}

#[async_trait]
impl Tool for PortTool {
    fn schema(&self) -> ToolSchema {
        self.schema.clone()
    }

    async fn run(
        &self,
        args: &Map<String, Value>,
        context: ToolContext<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let answers = {
            let view = OverlayHandle::of(Arc::clone(context.view));
            self.callbacks.tool(self.number, &json(args), view)
        };
        let answer = answers.single().await.map_err(tool_error)?;
        let ToolAnswer { text, items } = parse("output", &answer).map_err(tool_error)?;
        Ok(text.map_or_else(|| ToolOutput::of(items), ToolOutput::Text))
    }
}

/// The tools that every engine has, including those for rules if the project's rules are read. The user's policies
/// decide which of them are offered.
pub(crate) fn built_in(runner: Option<Arc<dyn CommandRunner>>, has_rules: bool) -> Toolbox {
    let of_rules = has_rules.then(|| [request_rule_tool(), create_rule_tool()]);
    let more = more_tools().into_iter().chain([task_tool()]).chain(of_rules.into_iter().flatten());
    more.fold(Toolbox::standard(runner), Toolbox::with)
}

/// Adds the developer's tools to the built-in ones.
pub(crate) fn with_own_tools(
    toolbox: Toolbox,
    tools: Vec<ToolSchema>,
    callbacks: &Arc<Callbacks>,
) -> Result<Toolbox, Failure> {
    let mut names = HashSet::new();
    let mut toolbox = toolbox;
    for (number, schema) in tools.into_iter().enumerate() {
        check_name(&schema.name, &mut names)
            .map_err(|problem| Failure::input(format!("tools[{number}].name"), problem))?;
        toolbox = toolbox.with(Arc::new(PortTool { schema, number, callbacks: Arc::clone(callbacks) }));
    }
    Ok(toolbox)
}

/// The declarations of the developer's tools that only read, and of those of the toolbox that are not the gate's own.
pub(crate) fn declarations(
    tools: &[ToolSchema],
    reads: Vec<Option<Vec<String>>>,
    toolbox: &Toolbox,
) -> Vec<Declaration> {
    let declared = tools.iter().zip(reads).filter_map(|(tool, paths)| {
        let paths = paths?;
        Some(Declaration::reads(&tool.name, &paths.iter().map(String::as_str).collect::<Vec<_>>()))
    });
    let names: HashSet<_> = toolbox.schemas().into_iter().map(|tool| tool.name).collect();
    let built_in = tool_rules::declarations().into_iter().filter(|tool| names.contains(&*tool.name));
    declared.chain(built_in).collect()
}

fn check_name(name: &str, names: &mut HashSet<String>) -> Result<(), String> {
    if name.is_empty() {
        return Err("is empty".to_owned());
    }
    // Otherwise the gate would judge the built-in tool while another one runs.
    let is_declared = || tool_rules::declarations().iter().any(|tool| tool.name == name);
    if Declaration::built_in(name).is_some() || is_declared() {
        return Err(format!("{name:?} is a built-in tool, or another name of one; take another name"));
    }
    if names.insert(name.to_owned()) { Ok(()) } else { Err(format!("there are two tools {name:?}")) }
}

/// The failure, in words for the model.
fn tool_error(failure: Failure) -> ToolError {
    ToolError::failed(failure.message)
}
