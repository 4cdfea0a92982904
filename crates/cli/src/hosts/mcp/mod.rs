//! `headstart mcp`: commands of this program as tools of the Model Context Protocol.
//!
//! Each tool runs a command (`tools`) as a separate process (`process`). A tool and its command can therefore not
//! differ, and a call that is no longer wanted ends with everything that it started.

mod fit;
mod process;
mod tools;
mod transport;

use std::path::{Path, PathBuf};
use std::time::Duration;

use headstart_machine::error::CliError;
use headstart_machine::system::signals::Signals;
use headstart_machine::workspace;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use url::Url;

use self::process::{ProcessGroups, ProcessResult};
use self::tools::{Invocation, OutputForm};
use self::transport::StdioTransport;

/// How often the client is told that a call still runs.
const BEAT: Duration = Duration::from_secs(1);

/// Serves the client until it disconnects. Then no process that was started for it is left.
pub(crate) async fn serve(workspace: Option<String>, state: Option<PathBuf>) -> Result<(), CliError> {
    let mut signals = Signals::new().map_err(CliError::Input)?;
    let groups = ProcessGroups::default();
    let server = McpServer { workspace, state, groups: groups.clone() };
    let serving = async {
        let failed = |error: String| CliError::Unavailable(format!("the client cannot be served: {error}"));
        match server.serve(StdioTransport::new()).await {
            Ok(service) => service.waiting().await.map(drop).map_err(|error| failed(error.to_string())),
            // A client that disconnects before it has sent anything is no failure.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(failed(error.to_string())),
        }
    };
    let ended = tokio::select! {
        ended = serving => ended,
        signal = signals.next() => {
            Err(CliError::Signalled { signal, what: "what was at work is ended".to_owned() })
        }
    };
    groups.end().await;
    ended
}

struct McpServer {
    /// The folder that the flag names.
    workspace: Option<String>,
    state: Option<PathBuf>,
    groups: ProcessGroups,
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        config.server_info = Implementation::new("headstart", env!("CARGO_PKG_VERSION"));
        config.instructions = Some(
            "judge and run_read_only need nobody's consent; try_in_shadow tries what writes, and writes nothing; ahead_accept changes files."
                .to_owned(),
        );
        config
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.to_string();
        let wrong = |why: String| ErrorData::invalid_params(why, None);
        let invocation = tools::invocation(&name, request.arguments.unwrap_or_default());
        let invocation =
            invocation.ok_or_else(|| wrong(format!("params.name: there is no tool {name:?}")))?;
        let invocation = invocation.map_err(|why| wrong(format!("{name}: {why}")))?;
        let workspace = self.workspace(&context).await.map_err(wrong)?;
        let arguments = self.arguments(&invocation, &workspace);
        let runs = self.groups.run(&arguments, Path::new(&workspace), &invocation.input);
        let result = tokio::select! {
            ended = runs => answer(&invocation, ended),
            () = tell_of_progress(&context) => failed("never"),
            () = context.ct.cancelled() => failed("the call was cancelled"),
            () = tokio::time::sleep(invocation.time_limit) => {
                failed(&format!("it did not end within {} seconds", invocation.time_limit.as_secs()))
            }
        };
        Ok(result.into())
    }
}

impl McpServer {
    /// The workspace for all calls. A call cannot name one itself.
    #[expect(deprecated, reason = "clients tell their folders so, and have no other way yet")]
    async fn workspace(&self, context: &RequestContext<RoleServer>) -> Result<String, String> {
        if let Some(workspace) = &self.workspace {
            return Ok(workspace.clone());
        }
        let has_roots = context.peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some());
        let flag = "start headstart mcp with --workspace DIR";
        if !has_roots {
            return workspace::resolve(None).map_err(|error| format!("{error}; {flag}"));
        }
        let listed = context.peer.list_roots().await;
        let listed =
            listed.map_err(|error| format!("the client does not tell its roots ({error}); {flag}"))?;
        match listed.roots.as_slice() {
            [root] => {
                let folder = Url::parse(&root.uri).ok().and_then(|url| url.to_file_path().ok());
                let folder =
                    folder.ok_or_else(|| format!("the client's root {} is no folder; {flag}", root.uri))?;
                workspace::resolve(Some(&folder)).map_err(|error| format!("{error}; {flag}"))
            }
            roots => Err(format!("the client has {} roots, and a call is about one; {flag}", roots.len())),
        }
    }

    fn arguments(&self, invocation: &Invocation, workspace: &str) -> Vec<String> {
        let state = self.state.iter().map(|state| format!("--state-dir={}", state.display()));
        let Invocation { command, rest, .. } = invocation;
        state
            .chain(command.iter().cloned())
            .chain([format!("--workspace={workspace}")])
            .chain(rest.iter().cloned())
            .collect()
    }
}

/// Tells the client each second that the call still runs, if the client asked for that. The future never ends.
async fn tell_of_progress(context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return std::future::pending().await };
    let mut seconds = 0.0;
    loop {
        tokio::time::sleep(BEAT).await;
        seconds += BEAT.as_secs_f64();
        let progress = ProgressNotificationParam::new(token.clone(), seconds);
        let progress = progress.with_message(format!("running for {seconds:.0} s"));
        // The client may be gone, which is no failure here.
        let _ = context.peer.notify_progress(progress).await;
    }
}

/// The result of a command, as an answer.
fn answer(invocation: &Invocation, ended: Result<ProcessResult, String>) -> CallToolResult {
    let ended = match ended {
        Ok(ended) if ended.is_cut => return failed("it prints more than 16 MiB"),
        Ok(ended) => ended,
        Err(why) => return failed(&why),
    };
    match invocation.answer {
        // What was not found is an answer, too.
        OutputForm::Text if ended.output.is_empty() => failed(&failure_text(&ended)),
        OutputForm::Text => {
            let notes = ended.errors.lines().map(|note| format!("[{note}]\n"));
            let text = ended.output.clone() + &notes.collect::<String>();
            CallToolResult::success(vec![ContentBlock::text(text)])
        }
        OutputForm::Line | OutputForm::Lines(_) if ended.code != Some(0) => failed(&failure_text(&ended)),
        OutputForm::Line => match first_line(&ended) {
            Some(value) => said(&value),
            None => failed(&failure_text(&ended)),
        },
        OutputForm::Lines(name) => {
            let lines = lines(&ended);
            let notes: Vec<&str> = ended.errors.lines().collect();
            said(&json!({ name: lines, "notes": notes }))
        }
        OutputForm::Outcome => match first_line(&ended) {
            Some(value) if value["type"] == "conflict" || value["type"] == "withdrawn" => {
                CallToolResult::error(vec![ContentBlock::text(fit::fit(&value))])
            }
            Some(value) if value["type"] != "error" => said(&value),
            _ => failed(&failure_text(&ended)),
        },
    }
}

fn lines(ended: &ProcessResult) -> Vec<Value> {
    ended.output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn first_line(ended: &ProcessResult) -> Option<Value> {
    lines(ended).into_iter().next()
}

/// The reason that a failed command gave.
fn failure_text(ended: &ProcessResult) -> String {
    let said = lines(ended).into_iter().find_map(|line| match (&line["type"], &line["message"]) {
        (Value::String(kind), Value::String(message)) if kind == "error" => Some(message.clone()),
        _ => None,
    });
    let said = said.unwrap_or_else(|| ended.errors.trim().to_owned());
    match ended.code {
        _ if !said.is_empty() => said,
        Some(code) => format!("it ended with {code}"),
        None => "a signal ended it".to_owned(),
    }
}

/// An answer, said once: as text, which every client passes on. The same again as structured content would cost the model
/// of some products twice.
fn said(value: &Value) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(fit::fit(value))])
}

fn failed(why: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(fit::ends(why, fit::MOST))])
}
