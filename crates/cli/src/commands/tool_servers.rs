//! `headstart tool-servers`: the configured tool servers, and the user's decisions about those of a project.

use std::path::Path;

use headstart_machine::config::{Config, Flags};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::{self, one_line};
use headstart_machine::tool_servers::{ApprovalState, ApprovalSubject, Approvals, ServerTools};
use headstart_machine::workspace;
use headstart_tool_gate::PolicyOrigin;
use headstart_toolbox::Tool;
use serde::Serialize;

use crate::args::{ToolServerArgs, ToolServers as Arguments, ToolServersAction, WorkspaceArg};

/// A server, or a tool behind an address, from a configuration file.
#[derive(Debug, Serialize)]
struct ServerRow {
    name: String,
    /// `server` or `httpTool`.
    kind: &'static str,
    /// The file that names it: `user` or `project`.
    from: String,
    /// The command line or the address.
    reach: String,
    /// `ask`, `read-only-hints` or `excluded`.
    trust: &'static str,
    /// The user's environment variables that it gets.
    variables: Vec<String>,
    /// Whether it starts: `yes`, `no`, or `notAsked` if the user has not been asked yet.
    starts: &'static str,
    /// The address at which the user is logged in.
    #[serde(rename = "loggedInAt", skip_serializing_if = "Option::is_none")]
    logged_in_at: Option<String>,
}

/// The result of trying a server.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerTest {
    name: String,
    tools: Vec<TestedTool>,
    left_out: Vec<ExcludedTool>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TestedTool {
    name: String,
    description: String,
    /// Whether the server says that the tool only reads, and reaches nothing outside.
    says_it_reads: bool,
    /// Whether the tool may run ahead of the user.
    may_run_ahead: bool,
    parameters: serde_json::Value,
}

#[derive(Debug, Serialize)]
struct ExcludedTool {
    tool: String,
    why: String,
}

/// The workspace and the configuration that a command is about.
struct ServerSettings {
    workspace: String,
    config: Config,
    approvals: Approvals,
}

impl ServerSettings {
    fn of(args: &WorkspaceArg, context: &Context) -> Result<Self, CliError> {
        let workspace = workspace::resolve(args.path.as_deref())?;
        let config = context.config(&Flags::default(), Path::new(&workspace))?;
        let state = context.store().ok().map(|store| store.state_folder().to_owned());
        let approvals = Approvals::of(&workspace, state.as_deref());
        Ok(Self { workspace, config, approvals })
    }

    fn all(config: &Config) -> Vec<ApprovalSubject<'_>> {
        let others = &config.external_tools;
        let servers = others.servers.iter().map(ApprovalSubject::Server);
        servers.chain(others.http_tools.iter().map(ApprovalSubject::Http)).collect()
    }

    fn find(&self, name: &str) -> Result<ApprovalSubject<'_>, CliError> {
        let all = Self::all(&self.config);
        let names: Vec<_> = all.iter().map(|one| one.name().to_owned()).collect();
        let there_are = if names.is_empty() {
            "none is named".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        };
        let unknown = || {
            CliError::Unavailable(format!("no configuration file names a tool server {name:?}; {there_are}"))
        };
        all.into_iter().find(|one| one.name() == name).ok_or_else(unknown)
    }
}

/// Lists, tries, allows or refuses tool servers, or logs the user in to one.
pub(crate) async fn run(args: Arguments, context: &Context) -> Result<ExitStatus, CliError> {
    match args.action {
        None => list(&ServerSettings::of(&args.workspace, context)?, context),
        Some(ToolServersAction::List { workspace }) => {
            list(&ServerSettings::of(&workspace, context)?, context)
        }
        Some(ToolServersAction::Test(one)) => test(&one, context).await,
        Some(ToolServersAction::Allow(one)) => answer(&one, context, true),
        Some(ToolServersAction::Refuse(one)) => answer(&one, context, false),
        Some(ToolServersAction::Login { of, open }) => login(&of, open, context).await,
        Some(ToolServersAction::Logout(one)) => {
            output::note(&named(&one, context)?.log_out(&one.name).map_err(CliError::Unavailable)?);
            Ok(ExitStatus::Done)
        }
    }
}

/// The one server that a command is about. It is not started.
fn named(one: &ToolServerArgs, context: &Context) -> Result<ServerTools, CliError> {
    let mut here = ServerSettings::of(&one.workspace, context)?;
    let ApprovalSubject::Server(server) = here.find(&one.name)? else {
        let why = format!("{} is a tool behind an address, which is asked when a model calls it", one.name);
        return Err(CliError::Unavailable(why));
    };
    here.config.external_tools.servers = vec![server.clone()];
    here.config.external_tools.http_tools.clear();
    Ok(ServerTools::named(&here.config, &here.workspace, &context.environment, &here.approvals))
}

/// Logs the user in: the user opens an address, and this waits until they have returned.
async fn login(one: &ToolServerArgs, open: bool, context: &Context) -> Result<ExitStatus, CliError> {
    let begun = named(one, context)?.log_in(&one.name).await.map_err(CliError::Unavailable)?;
    output::print(&(begun.lines().join("\n") + "\n"))?;
    if open && let Err(why) = open_address(begun.address()) {
        output::note(&why);
    }
    output::note(&begun.finish().await.map_err(CliError::Unavailable)?);
    Ok(ExitStatus::Done)
}

/// Makes the system open a web address.
fn open_address(address: &str) -> Result<(), String> {
    let (program, arguments): (_, &[&str]) = match () {
        () if cfg!(target_os = "macos") => ("open", &[]),
        // It takes the address as it is; a shell would read the `&` in it.
        () if cfg!(windows) => ("rundll32", &["url.dll,FileProtocolHandler"]),
        () => ("xdg-open", &[]),
    };
    let none = std::process::Stdio::null;
    let mut opens = std::process::Command::new(program);
    let started = opens.args(arguments).arg(address).stdin(none()).stdout(none()).stderr(none()).spawn();
    started.map(drop).map_err(|error| format!("{program} does not start ({error}); open the address by hand"))
}

fn list(here: &ServerSettings, context: &Context) -> Result<ExitStatus, CliError> {
    let servers = ServerTools::named(&here.config, &here.workspace, &context.environment, &here.approvals);
    let all = ServerSettings::all(&here.config);
    let rows: Vec<_> =
        all.iter().map(|one| row(one, &here.approvals, servers.logged_in(one.name()))).collect();
    if context.output.is_json() {
        rows.iter().try_for_each(output::print_json)?;
        return Ok(ExitStatus::Done);
    }
    if rows.is_empty() {
        output::note("no configuration file names a tool server; `headstart help tool-servers` tells how");
    }
    let line = |row: &ServerRow| {
        let variables = if row.variables.is_empty() {
            String::new()
        } else {
            format!(", gets {}", row.variables.join(", "))
        };
        let starts = match row.starts {
            "yes" => String::new(),
            "no" => ", you said no".to_owned(),
            _ => format!(", starts after `headstart tool-servers allow {}`", row.name),
        };
        let login = row.logged_in_at.as_ref().map(|at| format!(", logged in at {at}")).unwrap_or_default();
        let reach = one_line(&row.reach);
        format!("{:<14} {:<8} {:<16} {reach}{variables}{login}{starts}\n", row.name, row.from, row.trust)
    };
    output::print(&rows.iter().map(line).collect::<String>())?;
    Ok(ExitStatus::Done)
}

fn row(one: &ApprovalSubject<'_>, approvals: &Approvals, logged_in_at: Option<String>) -> ServerRow {
    let (kind, trust) = match one {
        ApprovalSubject::Server(server) => ("server", server.trust.as_str()),
        ApprovalSubject::Http(_) => ("httpTool", "ask"),
    };
    let starts = match approvals.answer(one) {
        ApprovalState::Yes if trust == "excluded" => "no",
        ApprovalState::Yes => "yes",
        ApprovalState::No => "no",
        ApprovalState::NotAsked => "notAsked",
    };
    ServerRow {
        name: one.name().to_owned(),
        kind,
        from: one.origin().to_string(),
        reach: one.target(),
        trust,
        variables: one.variables().into_iter().map(str::to_owned).collect(),
        starts,
        logged_in_at,
    }
}

async fn test(one: &ToolServerArgs, context: &Context) -> Result<ExitStatus, CliError> {
    let tools = named(one, context)?;
    tools.start_all().await;
    let result = report_test(one, &tools, context);
    tools.close().await;
    result
}

fn report_test(one: &ToolServerArgs, tools: &ServerTools, context: &Context) -> Result<ExitStatus, CliError> {
    let started = tools.started();
    let Some(Ok(_)) = started.first().map(|started| &started.tools) else {
        return Err(CliError::Unavailable(tools.lines().join("; ")));
    };
    let left_out = started.iter().flat_map(|started| &started.omitted);
    let left_out: Vec<_> =
        left_out.map(|one| ExcludedTool { tool: one.tool.clone(), why: one.why.clone() }).collect();
    if context.output.is_json() {
        let tools = tools.tools();
        let tools = tools.iter().map(|tool| {
            let schema = tool.schema();
            TestedTool {
                name: schema.name,
                description: schema.description,
                says_it_reads: tool.claims_read_only(),
                may_run_ahead: tool.may_run_ahead(),
                parameters: schema.parameters,
            }
        });
        output::print_json(&ServerTest { name: one.name.clone(), tools: tools.collect(), left_out })?;
        return Ok(ExitStatus::Done);
    }
    let mut lines = Vec::new();
    for tool in tools.tools() {
        let ahead = match (tool.may_run_ahead(), tool.claims_read_only()) {
            (true, _) => "ahead",
            (false, true) => "asks (says it only reads)",
            (false, false) => "asks",
        };
        let description = tool.schema().description;
        let description: String = one_line(&description).chars().take(80).collect();
        lines.push(format!("{:<40} {ahead:<26} {description}\n", tool.name()));
    }
    lines.extend(
        left_out.iter().map(|one| format!("left out: {}: {}\n", one_line(&one.tool), one_line(&one.why))),
    );
    output::print(&lines.concat())?;
    Ok(ExitStatus::Done)
}

fn answer(one: &ToolServerArgs, context: &Context, yes: bool) -> Result<ExitStatus, CliError> {
    let here = ServerSettings::of(&one.workspace, context)?;
    let asked = here.find(&one.name)?;
    if asked.origin() == PolicyOrigin::User {
        let why = format!(
            "{} is named by your own file, so it needs no yes; `trust = \"excluded\"` there keeps it from starting",
            one.name
        );
        return Err(CliError::Unavailable(why));
    }
    let mut approvals = Approvals::of(&here.workspace, Some(context.store()?.state_folder()));
    if yes && asked.is_too_long_to_show() {
        let why =
            format!("{}: its entry is longer than can be shown; name the server in your own file", one.name);
        return Err(CliError::Unavailable(why));
    }
    let question = approvals.question(&asked);
    if yes && question.counts_once() {
        let why = format!(
            "{} may run any of this project's files, which are too many to compare later, so a yes is not kept; a chat asks each time",
            one.name
        );
        return Err(CliError::Unavailable(why));
    }
    approvals.keep(question, yes)?;
    let does = if yes { "starts in this workspace from now on" } else { "does not start" };
    output::note(&format!("{} {does}:\n  {}", one.name, asked.shown().trim_end()));
    Ok(ExitStatus::Done)
}
