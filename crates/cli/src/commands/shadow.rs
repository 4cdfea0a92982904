//! `headstart shadow`: views of the workspace, by hand.

mod diagnostics;
mod kept;
mod warm;

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use headstart_overlay_fs::{
    ChangeSet, ChangeSummary, CommitOptions, CommitOutcome, Conflict, Workspace as _, WorkspacePath,
};
use headstart_shadow::{End, Refused, Stream, Streams};
use headstart_toolbox::Support;
use serde::Serialize;

use super::scope::{self, Purpose};
use crate::args::{OfId, Scope, Shadow, ShadowRun, WorkspaceArg};
use crate::config::{Config, Flags};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::intel::Found;
use crate::setup::{self, AcceptedBy};
use crate::store::Store;
use crate::views::{BuildOutput, Views};
use crate::{intel, output, workspace};

/// The exit code where there is no view, as that of other programs that start a command.
const NO_VIEW: u8 = 125;

/// What came of a command, with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "shadowRan", rename_all = "camelCase")]
struct Ran<'a> {
    command: &'a [String],
    exit_code: Option<i32>,
    end: End,
    millis: u64,
    output: String,
    changes: Vec<ChangeSummary>,
    /// Build output and caches: folders that git ignores.
    warm: &'a [WorkspacePath],
    not_staged: &'a [headstart_shadow::NotStaged],
    git: bool,
    changed_meanwhile: &'a [WorkspacePath],
    refused: &'a Refused,
    applied: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    conflicts: &'a [Conflict],
}

/// Whether there are views, with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "shadowCheck", rename_all = "camelCase")]
struct Checked<'a> {
    /// What keeps views apart from the machine; nothing where there are none.
    view: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    notes: &'a [String],
    trials: Vec<Tried<'a>>,
    servers: Vec<Server<'a>>,
}

/// A language server.
#[derive(Serialize)]
struct Server<'a> {
    name: &'a str,
    program: Option<&'a Path>,
    /// Whether the workspace has files that it knows.
    wanted: bool,
    /// What installs it, where it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    install: Option<&'a str>,
}

#[derive(Serialize)]
struct Tried<'a> {
    what: &'a str,
    holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

pub(crate) async fn run(args: Shadow, context: &Context) -> Result<ExitStatus, CliError> {
    match args {
        Shadow::Check { workspace } => check(&workspace, context),
        Shadow::Run(args) => run_command(&args, context),
        Shadow::List => kept::list(context),
        Shadow::Warm(args) => warm::run(&args, context),
        Shadow::Clean { all, workspace } => kept::clean(all, &workspace, context),
        Shadow::Diagnostics(args) => diagnostics::run(&args, context).await,
    }
}

fn check(of: &WorkspaceArg, context: &Context) -> Result<ExitStatus, CliError> {
    let (workspace, config, views) = open(of, context)?;
    let servers = intel::look(&config, Path::new(&workspace), &views);
    let (tier, why) = match views.support() {
        Support::Views { tier } => (Some(tier.to_string()), None),
        Support::None { why } => (None, Some(why.as_str())),
    };
    let trials = if tier.is_some() { views.self_test() } else { Vec::new() };
    let holds = trials.iter().all(|trial| trial.problem.is_none());
    if context.output.is_json() {
        let tried = trials.iter().map(|trial| Tried {
            what: trial.what,
            holds: trial.problem.is_none(),
            problem: trial.problem.as_deref(),
        });
        output::print_json(&Checked {
            view: tier.clone(),
            why,
            notes: views.notes(),
            trials: tried.collect(),
            servers: servers.iter().map(server).collect(),
        })?;
    } else {
        let head = match (&tier, why) {
            (Some(tier), _) => format!("views: {tier}; commands of work ahead may write in them"),
            (None, why) => {
                format!("no views: {}; a command that writes stops work ahead", why.unwrap_or_default())
            }
        };
        let notes = views.notes().iter().map(|note| format!("note: {note}"));
        let tried = trials.iter().map(|trial| match &trial.problem {
            None => format!("ok: {}", trial.what),
            Some(problem) => format!("FAILED: {}: {problem}", trial.what),
        });
        let servers = servers.iter().map(server_line);
        let lines = [head].into_iter().chain(notes).chain(tried).chain(servers);
        let lines: Vec<_> = lines.map(|line| output::printable(&line)).collect();
        output::print(&format!("{}\n", lines.join("\n")))?;
    }
    Ok(if tier.is_some() && holds { ExitStatus::Done } else { ExitStatus::Failed })
}

fn server(found: &Found) -> Server<'_> {
    Server {
        name: &found.adapter.name,
        program: found.program.as_deref(),
        wanted: found.file.is_some(),
        install: Some(found.adapter.install.as_str()).filter(|_| found.program.is_none()),
    }
}

fn server_line(found: &Found) -> String {
    let Found { adapter, program, file } = found;
    match (program, file) {
        (Some(program), _) => format!("language server: {} ({})", adapter.name, program.display()),
        (None, Some(file)) => {
            format!("missing: {}, which {file} asks for; {} installs it", adapter.name, adapter.install)
        }
        (None, None) => format!("not installed: {}; {} installs it", adapter.name, adapter.install),
    }
}

fn run_command(args: &ShadowRun, context: &Context) -> Result<ExitStatus, CliError> {
    let staged = match &args.speculation {
        Some(id) => staged_by(id, &args.workspace, context)?,
        None => ChangeSet::default(),
    };
    let (workspace, config, views) = open(&args.workspace, context)?;
    if let Support::None { why } = views.support() {
        output::note(&format!("headstart: there is no view here: {why}"));
        return Ok(ExitStatus::Of(NO_VIEW));
    }
    let state = context.store().ok();
    let tree = setup::tree(Path::new(&workspace), state.as_ref().map(Store::state_folder), AcceptedBy::This)?;
    let rules = config.gate_context(workspace.clone())?;
    let failed = |error: String| CliError::Unavailable(error);
    let keep = args.keep_ignored.iter().map(|path| {
        WorkspacePath::resolve(path, &workspace).map_err(|error| failed(format!("--keep-ignored: {error}")))
    });
    let keep = keep.collect::<Result<Vec<_>, _>>()?;
    // What is asked for of build output is read as a whole, which it can be in memory.
    let place = if keep.is_empty() { BuildOutput::OnDisk } else { BuildOutput::InMemory };
    let mut opened = views.open_for(&rules.deny, &staged, place).map_err(failed)?;
    let view = &mut opened.view;
    let json = context.output.is_json();
    let command = views.program(&args.command, if json { Streams::Joined } else { Streams::Apart });
    let started = Instant::now();
    let mut said = Vec::new();
    let mut gone = None;
    let (end, refused) = view
        .run_into(&command, &mut |stream, piece| {
            let written = match stream {
                _ if json => {
                    said.extend_from_slice(piece);
                    Ok(())
                }
                Stream::Out => io::stdout().write_all(piece).and_then(|()| io::stdout().flush()),
                Stream::Err => io::stderr().write_all(piece),
            };
            gone = gone.take().or(written.err());
        })
        .map_err(|error| failed(error.to_string()))?;
    if let Some(error) = gone {
        return Err(CliError::Output(error));
    }
    let millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let back = if view.has_ended() {
        let why = match end {
            End::Disk => "build output reached its limit on the disk",
            _ => "its time was up",
        };
        output::note(&format!("headstart: {why}, and the view ended with all that it had written"));
        headstart_shadow::ReadBack::default()
    } else {
        views.read_back(view, &tree, keep).map_err(failed)?
    };
    let may_apply = args.apply && back.changed_meanwhile.is_empty() && !back.changes.is_empty();
    let outcome = if may_apply {
        let committed = futures::executor::block_on(tree.commit(&back.changes, CommitOptions::default()));
        Some(committed.map_err(|error| setup::cannot_open(Path::new(&workspace), None, &error))?)
    } else {
        None
    };
    let conflicts = match &outcome {
        Some(CommitOutcome::Conflict(conflicts)) => conflicts.as_slice(),
        _ => &[],
    };
    let applied = matches!(outcome, Some(CommitOutcome::Committed(_)));
    let exit_code = match end {
        End::Exited { code } => Some(code),
        _ => None,
    };
    if json {
        output::print_json(&Ran {
            command: &args.command,
            exit_code,
            end,
            millis,
            output: String::from_utf8_lossy(&said).into_owned(),
            changes: back.changes.summary(),
            warm: &back.ignored,
            not_staged: &back.not_staged,
            git: back.git,
            changed_meanwhile: &back.changed_meanwhile,
            refused: &refused,
            applied,
            conflicts,
        })?;
    } else {
        tell(&back, &refused, conflicts, applied);
    }
    Ok(match exit_code {
        _ if !conflicts.is_empty() || args.apply && !back.changed_meanwhile.is_empty() => {
            ExitStatus::Conflict
        }
        Some(code) => ExitStatus::Of(u8::try_from(code).unwrap_or(1)),
        None => ExitStatus::Failed,
    })
}

/// What is said on standard error after the command's own output.
fn tell(back: &headstart_shadow::ReadBack, refused: &Refused, conflicts: &[Conflict], applied: bool) {
    for change in back.changes.summary() {
        output::note(&output::change_line(&change));
    }
    for path in &back.changed_meanwhile {
        output::note(&format!(
            "not read back, for it changed on disk meanwhile: {}",
            output::one_line(&path.to_string())
        ));
    }
    for left in &back.not_staged {
        output::note(&format!("not kept: {} ({:?})", output::one_line(&left.path.to_string()), left.why));
    }
    if back.git {
        output::note("what it wrote below .git is not kept");
    }
    if 0 < refused.network {
        output::note("it looked for a network, and a view has none");
    }
    for conflict in conflicts {
        output::note(&format!("conflict: {}", output::conflict_line(conflict)));
    }
    output::note(match (applied, back.changes.is_empty()) {
        (true, _) => "applied; headstart undo takes it back",
        (false, true) => "no file was changed in the view",
        (false, false) => "nothing was written to the workspace",
    });
}

pub(super) fn open(of: &WorkspaceArg, context: &Context) -> Result<(String, Config, Views), CliError> {
    let workspace = workspace::resolve(of.path.as_deref())?;
    let config = context.config(&Flags::default(), Path::new(&workspace))?;
    let state = context.store().ok();
    let views = Views::new(
        Path::new(&workspace),
        &config.shadow,
        config.limits.staged,
        &context.environment,
        state.as_ref().map(Store::state_folder),
    );
    Ok((workspace, config, views))
}

/// What a speculation staged that nobody has accepted yet.
pub(super) fn staged_by(id: &str, of: &WorkspaceArg, context: &Context) -> Result<ChangeSet, CliError> {
    let store = context.store()?;
    let scope = Scope { all: false, workspace: WorkspaceArg { path: of.path.clone() } };
    let of = OfId { id: id.to_owned(), scope };
    let record = store.read(&scope::find(&store, &of, Purpose::Look)?)?;
    record.finished.map(|finished| finished.changes).ok_or_else(|| {
        let problem = "has no work that could be shown in a view".to_owned();
        CliError::WrongState { id: id.to_owned(), problem }
    })
}
