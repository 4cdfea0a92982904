//! `headstart doctor`: what works on this machine, and what to do about the rest. It sends nothing, and writes only the
//! state that a view needs for a moment.

use std::fs::Metadata;
use std::path::Path;
use std::time::Duration;

use headstart_git_ahead::GitError;
use headstart_machine::config::{self, Config, Flags, IntelMode, PROJECT_FILE};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::git::Family;
use headstart_machine::intel;
use headstart_machine::machine::Machine;
use headstart_machine::model_detection::{self, DetectedModels};
use headstart_machine::models::Models;
use headstart_machine::output::{self, ColorMode};
use headstart_machine::runner::BashRunner;
use headstart_machine::system::{Kernel, can_write, read_plain};
use headstart_machine::{git, setup, store, workspace};
use headstart_overlay_fs::{MAX_IGNORE_PATTERNS, WorkspacePath};
use headstart_speculation::Staging;
use headstart_tool_gate::{ConditionalCommand, DenyRules, Gate, GateContext};
use headstart_toolbox::{CommandEnvironment, CommandRequest, CommandRunner as _, SecretAccess, ViewSupport};
use serde::Serialize;
use tokio::net::TcpStream;

use crate::args::WorkspaceArg;
use crate::hosts::node;

/// The time limit for a connection to a server on this machine, which answers at once or never.
const CONNECTS_WITHIN: Duration = Duration::from_millis(300);
/// The time limit for a command that does nothing, which takes milliseconds.
const RUNS_WITHIN: Duration = Duration::from_secs(10);

/// The advice where there is neither a key nor a server. A command that lacks a model names its forms, which is no help
/// to somebody who has none.
const GET_A_MODEL: &str = "\
on this machine: install Ollama (https://ollama.com/download), then `ollama pull qwen3-coder`
at a provider: make a key (at https://platform.claude.com, for example), then `export ANTHROPIC_API_KEY=…`
`headstart chat` then offers it";

/// The number of columns before a result.
const MARGIN: usize = 24;

/// The result of one check.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "check", rename_all = "camelCase")]
struct DoctorCheck {
    name: &'static str,
    state: CheckStatus,
    detail: String,
    /// What to do if something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum CheckStatus {
    Ok,
    /// headstart works, but can do less.
    Limited,
    /// No chat is possible.
    Failed,
}

impl DoctorCheck {
    fn new(name: &'static str, state: CheckStatus, detail: impl Into<String>) -> Self {
        Self { name, state, detail: detail.into(), help: None }
    }

    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Ok, detail)
    }

    fn limited(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Limited, detail)
    }

    fn failed(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, CheckStatus::Failed, detail)
    }

    fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

pub(crate) async fn run(args: WorkspaceArg, context: &Context) -> Result<ExitStatus, CliError> {
    let workspace = workspace::resolve(args.path.as_deref())?;
    let place = Path::new(&workspace);
    let mut checks = vec![system()];
    let config = match context.config(&Flags::default(), place) {
        Ok(config) => {
            checks.push(configuration(context, place));
            config
        }
        Err(error) => {
            let help =
                "until that is corrected nothing begins that needs it; without the file the defaults hold";
            checks.push(DoctorCheck::failed("configuration", error.to_string()).help(help));
            Config::default()
        }
    };
    checks.push(model(&config, context).await);
    let place_of_state = checks.len();
    checks.push(git(place).await);
    checks.extend(ignored(place));
    checks.push(commands(place).await);
    checks.extend(views_and_servers(&config, &workspace, context));
    // Trying a view may have made the folder.
    checks.insert(place_of_state, state(context));
    checks.extend(agents(context).await);
    checks.push(background(&config, context));
    checks.push(terminal(context));
    show(&checks, context)?;
    let fails = checks.iter().any(|check| check.state == CheckStatus::Failed);
    Ok(if fails { ExitStatus::Failed } else { ExitStatus::Done })
}

fn system() -> DoctorCheck {
    let Kernel { name, release, .. } = Kernel::of_system();
    let on = [name, release].join(" ");
    let detail =
        format!("headstart {} on {}, {}", env!("CARGO_PKG_VERSION"), on.trim_end(), std::env::consts::ARCH);
    if cfg!(target_os = "linux") {
        DoctorCheck::ok("system", detail)
    } else {
        DoctorCheck::limited("system", detail)
            .help("commands run ahead on Linux only; reads, searches and edits do here")
    }
}

fn configuration(context: &Context, workspace: &Path) -> DoctorCheck {
    let files = [config::user_file(&context.environment), Some(workspace.join(PROJECT_FILE))];
    let read: Vec<_> = files.into_iter().flatten().filter(|file| file.is_file()).collect();
    match read.as_slice() {
        [] => DoctorCheck::ok("configuration", "no file; the defaults"),
        read => {
            let read: Vec<_> = read.iter().map(|file| file.display().to_string()).collect();
            DoctorCheck::ok("configuration", read.join(", "))
        }
    }
}

async fn model(config: &Config, context: &Context) -> DoctorCheck {
    let Some(spec) = &config.model else {
        return DoctorCheck::limited("model", "none is chosen").help(models_here(context).await);
    };
    if let Err(error) = Models::open(config, &context.environment, None) {
        let error = error.to_string();
        let about = if error.contains(&spec.to_string()) { error } else { format!("{spec}: {error}") };
        return DoctorCheck::failed("model", about).help(models_here(context).await);
    }
    let Some((host, port)) = config.local_server() else {
        return DoctorCheck::ok("model", format!("{spec}; its key is set, and it was not asked"));
    };
    match tokio::time::timeout(CONNECTS_WITHIN, TcpStream::connect((host.as_str(), port))).await {
        Ok(Ok(_)) => DoctorCheck::ok("model", format!("{spec}; a server listens on {host}:{port}")),
        _ => DoctorCheck::failed("model", format!("{spec}: nothing listens on {host}:{port}"))
            .help("start the model server, or name another address with --base-url"),
    }
}

/// What to do for a model: how to begin with what there is here, or how to get one.
async fn models_here(context: &Context) -> String {
    let seen = DetectedModels::detect(&context.environment).await;
    if seen.is_empty() {
        return GET_A_MODEL.to_owned();
    }
    let columns = context.output.columns().saturating_sub(MARGIN);
    let hints = model_detection::rows(&seen.hints(), columns, ColorMode::Plain);
    format!("{}\n{}", seen.head(), hints.join("\n"))
}

/// Checks the folder that stores speculations, the ledger and the index.
fn state(context: &Context) -> DoctorCheck {
    let store = match context.store() {
        Ok(store) => store,
        Err(error) => return DoctorCheck::failed("state", error.to_string()),
    };
    let folder = store.state_folder();
    if let Some(error) = folder.exists().then(|| store::trouble_with(folder)).flatten() {
        return DoctorCheck::failed("state", error.to_string());
    }
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    if let Err(error) = can_write(there) {
        return DoctorCheck::failed("state", format!("{} cannot be written: {error}", there.display()))
            .help("--state-dir or HEADSTART_STATE_DIR name another folder");
    }
    let is_new = if folder.exists() { "" } else { "; it is made when it is needed" };
    DoctorCheck::ok("state", format!("{}{is_new}", folder.display()))
}

async fn git(workspace: &Path) -> DoctorCheck {
    match git::find(workspace) {
        Ok(git) if workspace.join(".git").is_dir() => {
            if let Some(why) = why_git_does_not_read(workspace).await {
                return DoctorCheck::limited("git", why)
                    .help("until then git commands stop work ahead and ask");
            }
            let (major, minor) = git.version();
            DoctorCheck::ok("git", format!("{major}.{minor}, new enough that commits can run ahead"))
        }
        Ok(_) => match Family::of(workspace, std::env::home_dir().as_deref()) {
            Ok(Family { top: Some(top), .. }) => DoctorCheck::ok(
                "git",
                format!("the repository begins in {}; work here keeps to this folder of it", top.display()),
            ),
            Ok(Family { folders, .. }) if !folders.is_empty() => {
                DoctorCheck::ok("git", "a worktree or a submodule: its commands run; commits stop work ahead")
            }
            Err(why) if workspace.join(".git").symlink_metadata().is_ok() => DoctorCheck::limited("git", why),
            _ => DoctorCheck::ok("git", "there is no repository in this folder"),
        },
        Err(_) if workspace.parent().is_none() => DoctorCheck::limited(
            "git",
            "the workspace / holds git itself, and no program of a workspace is run; work in a folder of it",
        ),
        Err(error @ GitError::Unsupported { .. }) => DoctorCheck::limited("git", error.to_string()),
        Err(error) => DoctorCheck::limited("git", error.to_string())
            .help("without it git commands do not run ahead: they stop it and ask; all else works"),
    }
}

/// Says where more is ignored than is compared with each path.
fn ignored(workspace: &Path) -> Option<DoctorCheck> {
    const MAX_BYTES: u64 = 1 << 20;
    let file = workspace.join(".gitignore");
    let found = file.symlink_metadata().ok().filter(Metadata::is_file)?;
    let detail = if MAX_BYTES < found.len() {
        ".gitignore is longer than 1 MiB, of which at most the beginning is read".to_owned()
    } else {
        let text = read_plain(&file, MAX_BYTES).ok()?;
        let lines = text.split(|byte| *byte == b'\n');
        let patterns = lines.filter(|line| !matches!(line.trim_ascii(), [] | [b'#', ..])).count();
        if patterns <= MAX_IGNORE_PATTERNS {
            return None;
        }
        format!(".gitignore has {patterns} patterns, of which the first {MAX_IGNORE_PATTERNS} count")
    };
    let help = "searches show, and accepts bring, what only the rest of it leaves out";
    Some(DoctorCheck::limited("ignored", detail).help(help))
}

/// Why git would not run in a command that nobody is asked about; `None` if nothing speaks against it.
async fn why_git_does_not_read(workspace: &Path) -> Option<String> {
    let rules = GateContext { workspace: workspace.to_str()?.to_owned(), ..GateContext::default() };
    let verdict = Gate::new().judge_command("git status", &rules);
    let command = ConditionalCommand::allowed("git status", verdict.hardened.as_ref());
    BashRunner::new(workspace.to_owned()).objection(&command).await
}

/// Runs a command as work ahead does, without asking anybody.
async fn commands(workspace: &Path) -> DoctorCheck {
    let request = CommandRequest {
        command: ConditionalCommand::allowed("true", None),
        directory: WorkspacePath::root(),
        environment: CommandEnvironment::Clean,
        secrets: SecretAccess::Closed,
        deny: DenyRules::default(),
        time_limit: RUNS_WITHIN,
        output_limit: 1_000,
    };
    match BashRunner::new(workspace.to_owned()).run(request).await {
        Ok(done) if done.exit_code == Some(0) => {
            DoctorCheck::ok("commands", "those that only read run ahead, confined by the kernel")
        }
        Ok(done) if done.timed_out => DoctorCheck::limited(
            "commands",
            format!("a command that does nothing took more than {} s", RUNS_WITHIN.as_secs()),
        )
        .help("the machine is busy, or the folder is very large: open one of the projects in it"),
        Ok(done) => DoctorCheck::limited(
            "commands",
            format!("a command that does nothing failed: {}", done.output.trim()),
        ),
        Err(error) if cfg!(windows) => DoctorCheck::limited("commands", error.to_string())
            .help("work ahead stops at the first command; in a turn a command runs in bash once you agree"),
        Err(error) => DoctorCheck::limited("commands", error.to_string())
            .help("work ahead stops at the first command; Landlock needs Linux 5.13"),
    }
}

/// What the user's own turns do where there are no views.
const WITHOUT_VIEWS: &str =
    "in default mode your turns ask about each edit and each command that does more than read";

fn views_and_servers(config: &Config, workspace: &str, context: &Context) -> Vec<DoctorCheck> {
    if !config.shadow.enabled {
        return vec![DoctorCheck::limited("views", "switched off by your configuration").help(WITHOUT_VIEWS)];
    }
    let state = context.store().ok().map(|store| store.state_folder().to_owned());
    let all = setup::any_views(config, workspace, &context.environment, state.as_deref());
    let views = match all.support() {
        _ if !config.shadow.remote.is_empty() => {
            let command = config.shadow.remote.join(" ");
            DoctorCheck::ok(
                "views",
                format!("on another machine, by {command}; `headstart shadow check` tries it"),
            )
        }
        ViewSupport::Views { tier } => {
            let turns = if config.staging == Staging::Off {
                "your turns ask about each edit, as staging = \"off\" says"
            } else {
                "your turns ask once, when they end"
            };
            DoctorCheck::ok("views", format!("{tier}; tests, builds and formatters run ahead; {turns}"))
        }
        ViewSupport::None { why } => DoctorCheck::limited("views", why.clone())
            .help(format!("until then work ahead stops at a command that writes; {WITHOUT_VIEWS}")),
    };
    let mut checks = vec![views];
    if config.intel.mode() == IntelMode::Off {
        checks
            .push(DoctorCheck::limited("servers", "code intelligence is switched off by your configuration"));
        return checks;
    }
    let found = intel::detect(config, Path::new(workspace), &all);
    let installed: Vec<_> = found
        .iter()
        .filter(|found| found.program.is_some())
        .map(|found| found.adapter.name.as_str())
        .collect();
    let missing = found.iter().find(|found| found.program.is_none() && found.file.is_some());
    let listed = if installed.is_empty() { "none is installed".to_owned() } else { installed.join(", ") };
    checks.push(match missing {
        Some(missing) => {
            let (name, file) =
                (&missing.adapter.name, missing.file.as_ref().map(ToString::to_string).unwrap_or_default());
            DoctorCheck::limited("servers", format!("{listed}; {file} asks for {name}"))
                .help(format!("{} installs it", missing.adapter.install))
        }
        None if installed.is_empty() => {
            DoctorCheck::ok("servers", "none is needed: no file here asks for one")
        }
        None => DoctorCheck::ok("servers", listed),
    });
    checks
}

/// Checks which agents that the proxy or a hook serves are installed, and whether the Node.js here is new enough for
/// them.
async fn agents(context: &Context) -> Option<DoctorCheck> {
    let path = context.environment.get("PATH");
    let is_here =
        |(program, _, _): &(&'static str, _, _)| node::find(program, path).is_some().then_some(*program);
    let here: Vec<_> = node::AGENTS.iter().filter_map(is_here).collect();
    let mut troubles = Vec::new();
    for program in &here {
        troubles.extend(node::trouble(&[(*program).to_owned()], path).await);
    }
    let listed = here.join(", ");
    match troubles.as_slice() {
        _ if here.is_empty() => None,
        [] => Some(DoctorCheck::ok("agents", listed)),
        troubles => Some(DoctorCheck::limited("agents", listed).help(format!(
            "{}\na newer Node.js is at https://nodejs.org; an older version of an agent is never installed for you here",
            troubles.join("\n")
        ))),
    }
}

/// Checks whether suggestions are made and work runs ahead.
fn background(config: &Config, context: &Context) -> DoctorCheck {
    use headstart_budget::policy::Mode;
    let off =
        |what: &str| DoctorCheck::limited("background", format!("{what} switched off by your configuration"));
    if context.environment.get("HEADSTART_BACKGROUND").is_some_and(|value| value == "off") {
        return DoctorCheck::limited("background", "suggestions are switched off by HEADSTART_BACKGROUND");
    }
    if config.background.mode == Mode::Off || !config.suggestions {
        return off("suggestions are");
    }
    if !config.speculation {
        return off("work ahead is");
    }
    let minds_machine = config.uses_local_model() && config.background.mode != Mode::Always;
    match minds_machine.then(|| Machine::of(&context.environment)).and_then(|machine| machine.trouble()) {
        Some(hold) => DoctorCheck::limited("background", hold.to_string())
            .help("`/background always` in a chat goes on all the same"),
        None => DoctorCheck::ok(
            "background",
            "suggestions come after a tool call or the second answer, and run ahead",
        ),
    }
}

fn terminal(context: &Context) -> DoctorCheck {
    let output = context.output;
    if !output.is_terminal() {
        return DoctorCheck::ok("terminal", "none: results go to a file or a pipe");
    }
    let colors = match output.style() {
        ColorMode::Colored => "colors",
        ColorMode::Plain => "no colors",
    };
    let name = context.environment.get("TERM").map(|term| term.to_string_lossy().into_owned());
    let detail =
        format!("{}, {} columns, {colors}", name.unwrap_or_else(|| "unnamed".into()), output.columns());
    if output.columns() < 40 {
        return DoctorCheck::limited("terminal", detail).help("a chat wants 40 columns or more");
    }
    DoctorCheck::ok("terminal", detail)
}

fn show(checks: &[DoctorCheck], context: &Context) -> Result<(), CliError> {
    if context.output.is_json() {
        return checks.iter().try_for_each(output::print_json);
    }
    output::print(&text(checks, context.output.columns(), context.output.style()))
}

/// The checks as text: a line for each, with its help below it.
fn text(checks: &[DoctorCheck], columns: usize, style: ColorMode) -> String {
    let room = columns.saturating_sub(MARGIN).max(20);
    let wrapped = |text: &str| output::wrapped(&output::printable(text), room);
    let lines = checks.iter().flat_map(|check| {
        let state = match check.state {
            CheckStatus::Ok => style.green("ok     "),
            CheckStatus::Limited => style.cyan("limited"),
            CheckStatus::Failed => style.red("FAILED "),
        };
        let detail = wrapped(&check.detail);
        let help =
            check.help.iter().flat_map(|help| help.lines()).flat_map(wrapped).map(|row| style.dim(&row));
        let below = detail.iter().skip(1).cloned().chain(help).map(|row| format!("{:MARGIN$}{row}\n", ""));
        let first = detail.first().map(String::as_str).unwrap_or_default();
        let head = format!("{state}  {:<13}  {first}\n", check.name);
        std::iter::once(head).chain(below).collect::<Vec<_>>()
    });
    lines.collect()
}
