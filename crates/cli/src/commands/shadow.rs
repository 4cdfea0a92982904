//! `headstart shadow`: lets the user run commands in views of the workspace, and manage the views.

mod diagnostics;
mod other_machine;
mod output_sink;
mod stored;
mod warm;

use std::path::Path;
use std::time::Instant;

use headstart_git_ahead::GitChange;
use headstart_machine::config::{Config, Flags};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::intel::LanguageServer;
use headstart_machine::remote::{Remote, names_git};
use headstart_machine::setup::{self, AcceptingProcess};
use headstart_machine::shell_words::shell_line;
use headstart_machine::store::Store;
use headstart_machine::views::{
    BuildOutput, OfflineListener, OpenedView, RepositoryRead, Views, commits_output,
};
use headstart_machine::{intel, output, workspace};
use headstart_overlay_fs::{
    ChangeSet, ChangeSummary, CommitOptions, CommitOutcome, Conflict, LeftOut, OsTree, Torn, Workspace as _,
    WorkspacePath,
};
use headstart_shadow::{
    Against, End, NotStaged, NotStagedReason, ReadBack, Refused, ShadowError, Stream, Streams,
};
use headstart_tool_gate::DenyRules;
use headstart_toolbox::{CommandOutput, ViewSupport};
use serde::Serialize;

use super::scope::{self, Purpose};
use super::show::GitSummary;
use crate::args::{IdArgs, Scope, Shadow, ShadowRun, WorkspaceArg};
use crate::serve;
use output_sink::OutputSink;

/// The exit code if there is no view, which is the one of other programs that start a command.
const NO_VIEW: u8 = 125;
/// The most paths outside the workspace that are named.
const MOST_NAMED: usize = 10;

/// The result of a command, with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "shadowRan", rename_all = "camelCase")]
struct RunReport<'a> {
    command: &'a [String],
    exit_code: Option<i32>,
    end: End,
    millis: u64,
    output: String,
    changes: Vec<ChangeSummary>,
    /// Build output and caches, which are folders that git ignores.
    warm: &'a [WorkspacePath],
    not_staged: &'a [NotStaged],
    /// What else is not among the changes: git ignores it, or it is build output.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_kept: &'a [LeftOut],
    /// Ignored files that are among the changes, because something that was removed may be in them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    brought: &'a [WorkspacePath],
    /// Why the changes cannot be applied, if the only copy of something may not be among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    torn: Option<&'a Torn>,
    /// Whether the command wrote to git's folder.
    git: bool,
    /// What the command did to the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    git_change: Option<GitSummary<'a>>,
    /// Why that cannot be applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    git_refused: Option<&'a str>,
    changed_meanwhile: &'a [WorkspacePath],
    refused: &'a Refused,
    /// Whether the command had the machine's network.
    network: bool,
    applied: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    conflicts: &'a [Conflict],
}

/// Whether views are possible, with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "shadowCheck", rename_all = "camelCase")]
struct CheckReport<'a> {
    /// How views are kept apart from the machine; `None` if there are none.
    view: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    /// Why each better way to keep them apart does not work.
    against: &'a [Against],
    notes: &'a [String],
    trials: Vec<TrialReport<'a>>,
    /// The other machine that the user's file names for views.
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<&'a other_machine::RemoteReport>,
    servers: Vec<ServerReport<'a>>,
}

/// A language server.
#[derive(Serialize)]
struct ServerReport<'a> {
    name: &'a str,
    program: Option<&'a Path>,
    /// Whether the workspace has files for this server.
    wanted: bool,
    /// The command that installs the server, if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    install: Option<&'a str>,
}

#[derive(Serialize)]
struct TrialReport<'a> {
    what: &'a str,
    holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

pub(crate) async fn run(args: Shadow, context: &Context) -> Result<ExitStatus, CliError> {
    match args {
        Shadow::Check { workspace } => check(&workspace, context).await,
        Shadow::Serve { here } => {
            let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
            serve::serve(context, here.as_deref(), input, output).await.map(|()| ExitStatus::Done)
        }
        Shadow::Run(args) => run_command(&args, context).await,
        Shadow::List => stored::list(context),
        Shadow::Warm(args) => warm::run(&args, context).await,
        Shadow::Clean { all, workspace } => stored::clean(all, &workspace, context),
        Shadow::Diagnostics(args) => diagnostics::run(&args, context).await,
    }
}

async fn check(of: &WorkspaceArg, context: &Context) -> Result<ExitStatus, CliError> {
    let (workspace, config, state) = configured(of, context)?;
    let views = views(&workspace, &config, state.as_ref(), context);
    let servers = intel::detect(&config, Path::new(&workspace), &views);
    let (tier, why) = match views.support() {
        ViewSupport::Views { tier } => (Some(tier.to_string()), None),
        ViewSupport::None { why } => (None, Some(why.as_str())),
    };
    let trials = if tier.is_some() { views.self_test() } else { Vec::new() };
    let remote = remote(&workspace, &config, state.as_ref(), context);
    let elsewhere = match &remote {
        Some(remote) => Some(other_machine::check(remote, &workspace, &config).await?),
        None => None,
    };
    let holds = trials.iter().all(|trial| trial.problem.is_none());
    let is_given = match &elsewhere {
        Some(elsewhere) => elsewhere.problem.is_none(),
        None => tier.is_some(),
    };
    if context.output.is_json() {
        let tried = trials.iter().map(|trial| TrialReport {
            what: trial.what,
            holds: trial.problem.is_none(),
            problem: trial.problem.as_deref(),
        });
        output::print_json(&CheckReport {
            view: tier.clone(),
            why,
            against: views.against(),
            notes: views.notes(),
            trials: tried.collect(),
            remote: elsewhere.as_ref(),
            servers: servers.iter().map(server).collect(),
        })?;
    } else {
        let head = match (&tier, why) {
            _ if elsewhere.is_some() && !is_given => {
                "no views: the other machine gives none, and no command runs here in its place; one that writes stops work ahead".to_owned()
            }
            _ if elsewhere.is_some() => "views: on another machine; commands of work ahead may write in them".to_owned(),
            (Some(tier), _) => format!("views: {tier}; commands of work ahead may write in them"),
            (None, why) => {
                format!("no views: {}; a command that writes stops work ahead", why.unwrap_or_default())
            }
        };
        let against = views.against().iter().map(|against| format!("not {}: {}", against.tier, against.why));
        let notes = views.notes().iter().map(|note| format!("note: {note}"));
        let tried = trials.iter().map(|trial| match &trial.problem {
            None => format!("ok: {}", trial.what),
            Some(problem) => format!("FAILED: {}: {problem}", trial.what),
        });
        let servers = servers.iter().map(server_line);
        let elsewhere = elsewhere.iter().flat_map(other_machine::RemoteReport::lines);
        let lines =
            [head].into_iter().chain(against).chain(notes).chain(tried).chain(elsewhere).chain(servers);
        let lines: Vec<_> = lines.map(|line| output::printable(&line)).collect();
        output::print(&format!("{}\n", lines.join("\n")))?;
    }
    Ok(if is_given && holds { ExitStatus::Done } else { ExitStatus::Failed })
}

fn server(found: &LanguageServer) -> ServerReport<'_> {
    ServerReport {
        name: &found.adapter.name,
        program: found.program.as_deref(),
        wanted: found.file.is_some(),
        install: Some(found.adapter.install.as_str()).filter(|_| found.program.is_none()),
    }
}

fn server_line(found: &LanguageServer) -> String {
    let LanguageServer { adapter, program, file } = found;
    match (program, file) {
        (Some(program), _) => format!("language server: {} ({})", adapter.name, program.display()),
        (None, Some(file)) => {
            format!("missing: {}, which {file} asks for; {} installs it", adapter.name, adapter.install)
        }
        (None, None) => format!("not installed: {}; {} installs it", adapter.name, adapter.install),
    }
}

/// The result of a command that the user started.
struct CommandResult {
    end: End,
    millis: u64,
    /// What the command printed, unless that was passed on directly.
    said: String,
    back: ReadBack,
    refused: Refused,
    git: Option<GitChange>,
    git_refused: Option<String>,
    /// Further remarks.
    notes: Vec<String>,
}

async fn run_command(args: &ShadowRun, context: &Context) -> Result<ExitStatus, CliError> {
    if args.command.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(CliError::NoCommand);
    }
    let (staged, committed) = match &args.speculation {
        Some(id) => staged_by(id, &args.workspace, context)?,
        None => <_>::default(),
    };
    let (workspace, config, state) = configured(&args.workspace, context)?;
    if args.network && !may_use_network(args, &config, context)? {
        output::note("headstart: the command was not run");
        return Ok(ExitStatus::Of(NO_VIEW));
    }
    let tree =
        setup::tree(Path::new(&workspace), state.as_ref().map(Store::state_folder), AcceptingProcess::This)?;
    let remote = if args.here { None } else { remote(&workspace, &config, state.as_ref(), context) };
    // The folders of the views must exist until the changes are applied, because their files may be there.
    let mut held = None;
    // The repository is never on another machine, so a command that works with it stays here.
    let came = match remote {
        Some(remote) if committed.is_none() && !args.command.iter().any(|word| names_git(word)) => {
            other_machine::run(args, &workspace, &config, &remote, staged).await?
        }
        _ => {
            let views = views(&workspace, &config, state.as_ref(), context);
            let views = &*held.insert(if args.network { views.on_network() } else { views });
            if let ViewSupport::None { why } = views.support() {
                output::note(&format!("headstart: {why}"));
                return Ok(ExitStatus::Of(NO_VIEW));
            }
            let rules = config.gate_context(workspace.clone())?;
            run_in_local_view(
                args,
                &workspace,
                views,
                &rules.deny,
                &tree,
                &staged,
                committed.as_ref(),
                context,
            )?
        }
    };
    let CommandResult { end, millis, said, back, refused, git, git_refused, notes } = came;
    let is_whole = back.changed_meanwhile.is_empty() && git_refused.is_none() && back.torn.is_none();
    let folders = (Path::new(&workspace), state.as_ref().map(Store::state_folder));
    let may_apply = args.apply && is_whole && (!back.changes.is_empty() || git.is_some());
    let outcome = if may_apply { Some(apply(&tree, &back, git.as_ref(), folders)?) } else { None };
    let conflicts = match &outcome {
        Some(CommitOutcome::Conflict(conflicts)) => conflicts.as_slice(),
        _ => &[],
    };
    let applied = matches!(outcome, Some(CommitOutcome::Committed(_)));
    let exit_code = match end {
        End::Exited { code } => Some(code),
        _ => None,
    };
    if context.output.is_json() {
        output::print_json(&RunReport {
            command: &args.command,
            exit_code,
            end,
            millis,
            output: said,
            changes: back.changes.summary(),
            warm: &back.ignored,
            not_staged: &back.not_staged,
            not_kept: &back.left_out,
            brought: &back.brought,
            torn: back.torn.as_ref(),
            git: back.git,
            git_change: git.as_ref().map(GitSummary::of),
            git_refused: git_refused.as_deref(),
            changed_meanwhile: &back.changed_meanwhile,
            refused: &refused,
            network: args.network,
            applied,
            conflicts,
        })?;
    } else {
        output::print(&output::printable(&said))?;
        for note in &notes {
            output::note(&output::one_line(note));
        }
        if args.network {
            output::note("it had the network of this machine");
        }
        let summary = RunSummary { back: &back, git: git.as_ref(), git_refused: git_refused.as_deref() };
        summary.print(&refused, conflicts, applied);
    }
    Ok(match exit_code {
        _ if !conflicts.is_empty() || args.apply && !is_whole => ExitStatus::Conflict,
        Some(code) => ExitStatus::Of(u8::try_from(code).unwrap_or(1)),
        None => ExitStatus::Failed,
    })
}

/// Whether the command may use this machine's network, because the user's own file allows it or the user agrees.
fn may_use_network(args: &ShadowRun, config: &Config, context: &Context) -> Result<bool, CliError> {
    if config.shadow.allows_network {
        return Ok(true);
    }
    let line = output::one_line(&shell_line(args.command.clone()));
    let question = format!(
        "{line}\ngets the network of this machine, and can send what it reads in the view. Run it? [y/N] "
    );
    super::says_yes(&question, context)?.ok_or_else(|| {
        let problem = "--network asks first, and nobody is at a terminal; network = \"allow\" under [shadow] of your own file agrees";
        CliError::Unavailable(problem.to_owned())
    })
}

#[expect(clippy::too_many_arguments, reason = "each is one thing that the command was told or found")]
fn run_in_local_view(
    args: &ShadowRun,
    workspace: &str,
    views: &Views,
    deny: &DenyRules,
    tree: &OsTree,
    staged: &ChangeSet,
    committed: Option<&GitChange>,
    context: &Context,
) -> Result<CommandResult, CliError> {
    let failed = |error: String| CliError::Unavailable(error);
    let keep = args.keep_ignored.iter().map(|path| {
        WorkspacePath::resolve(path, workspace).map_err(|error| failed(format!("--keep-ignored: {error}")))
    });
    let keep = keep.collect::<Result<Vec<_>, _>>()?;
    // Build output that is to be applied is read as a whole, which is only possible if it is in memory.
    let place = if keep.is_empty() { BuildOutput::OnDisk } else { BuildOutput::InMemory };
    let json = context.output.is_json();
    // What stands in JSON is read by a program, which tells a model.
    if json && let Some(why) = views.objection(deny) {
        return Err(failed(why));
    }
    let program = args.command.first().map_or("", String::as_str);
    let words = match args.command.as_slice() {
        [line] if line.contains(char::is_whitespace) => {
            ["/bin/bash", "--noprofile", "--norc", "-c", "--", line].map(str::to_owned).to_vec()
        }
        words => words.to_vec(),
    };
    // Git is asked for the user's settings while the view is made.
    let streams = if json { Streams::Joined } else { Streams::Apart };
    let (command, opened) = std::thread::scope(|scope| {
        let command = scope.spawn(|| views.program(&words, streams));
        let opened = views.open_over(deny, staged, committed, place);
        (command.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), opened)
    });
    let mut opened = opened.map_err(failed)?;
    let view = &mut opened.view;
    let started = Instant::now();
    let (mut said, mut offline) =
        (OutputSink::new(json), [OfflineListener::default(), OfflineListener::default()]);
    let ran = view.run_into(&command, &mut |stream, piece| {
        offline[usize::from(stream == Stream::Err)].take(piece);
        said.take(stream, piece);
    });
    let (end, mut refused) = ran.map_err(|error| match error {
        ShadowError::Command { message, .. } => failed(format!("{program:?} cannot be started: {message}")),
        error => failed(error.to_string()),
    })?;
    refused.network = refused.network.max(u64::from(offline.iter().any(|listener| listener.heard)));
    let said = said.finish()?;
    let exit_code = if let End::Exited { code } = end { Some(code) } else { None };
    let output = CommandOutput { output: said, exit_code, timed_out: false, truncated: false };
    let mut notes = views.failure_notes(&mut opened, &output);
    let said = if json { output.output } else { String::new() };
    let view = &mut opened.view;
    let (view_ended, took) = (view.has_ended(), started.elapsed());
    let mut back = if view_ended {
        let why = match end {
            End::Disk => "build output reached its limit on the disk",
            _ => "its time was up",
        };
        output::note(&format!("headstart: {why}, and the view ended with all that it had written"));
        ReadBack::default()
    } else {
        views.read_back(view, tree, keep).map_err(failed)?
    };
    if json && let Some(why) = views.told_secret(deny, &opened, said.as_bytes(), &back.changes) {
        return Err(failed(why));
    }
    let (git, git_refused) =
        if back.git { read_repository(views, &mut opened, &mut back, deny) } else { (None, None) };
    if refused.quota && !view_ended {
        notes.push("it wrote until the limit of a view was reached".to_owned());
    }
    Ok(CommandResult {
        end,
        millis: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        said,
        back,
        refused,
        git,
        git_refused,
        notes,
    })
}

/// The first paths, and how many there are besides.
fn list(mut paths: impl Iterator<Item = String>) -> String {
    let shown: Vec<_> = paths.by_ref().take(MOST_NAMED).collect();
    match paths.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// What the command did to the repository, or why that is not applied.
fn read_repository(
    views: &Views,
    opened: &mut OpenedView,
    back: &mut ReadBack,
    deny: &DenyRules,
) -> (Option<GitChange>, Option<String>) {
    match views.read_repository(opened, &back.taken_away) {
        RepositoryRead::Change(change) => {
            let refused = change.as_deref().and_then(|change| {
                let closed = || change.paths.iter().find(|path| deny.closes(path, false));
                let closed = || closed().map(|path| format!("it commits {path}, which a rule closes"));
                change.boundary().or_else(|| commits_output(change, &back.ignored)).or_else(closed)
            });
            (change.map(|change| *change), refused)
        }
        RepositoryRead::Disturbed => {
            back.changed_meanwhile.extend(WorkspacePath::parse(".git"));
            (None, None)
        }
        RepositoryRead::Refused(why) => (None, Some(why)),
    }
}

/// Applies the files together with the changes to the repository.
fn apply(
    tree: &OsTree,
    back: &ReadBack,
    git: Option<&GitChange>,
    (workspace, state): (&Path, Option<&Path>),
) -> Result<CommitOutcome, CliError> {
    let options = CommitOptions::default();
    let beside = git.map(GitChange::beside);
    let committed = match &beside {
        Some(beside) => futures::executor::block_on(tree.commit_with(&back.changes, beside, options)),
        None => futures::executor::block_on(tree.commit(&back.changes, options)),
    };
    committed.map_err(|error| {
        let digest = back.changes.digest_with(beside.as_deref());
        let folders = (workspace, state.unwrap_or(workspace));
        setup::not_done(tree, "changed", folders, &error, |tree| Ok(!tree.has_committed(digest)?))
    })
}

/// The result of a command, for a person.
struct RunSummary<'a> {
    back: &'a ReadBack,
    git: Option<&'a GitChange>,
    git_refused: Option<&'a str>,
}

impl RunSummary<'_> {
    /// Prints on standard error what follows the command's own output.
    fn print(&self, refused: &Refused, conflicts: &[Conflict], applied: bool) {
        let Self { back, git, git_refused } = *self;
        for change in back.changes.summary() {
            output::note(&output::change_line(&change));
        }
        if git_refused.is_none() {
            git.into_iter().flat_map(output::git_lines).for_each(|line| output::note(&line));
        }
        for path in &back.changed_meanwhile {
            output::note(&format!(
                "not read back, for it changed on disk meanwhile: {}",
                output::one_line(&path.to_string())
            ));
        }
        if let Some(torn) = &back.torn {
            output::note(&format!("not applied, for it {}", output::one_line(&torn.words())));
        }
        for path in &back.brought {
            let path = output::one_line(&path.to_string());
            output::note(&format!(
                "{path} is kept, though git ignores it, for what was removed may be in it"
            ));
        }
        if let Some(line) = output::not_kept_line(&back.left_out) {
            output::note(&line);
        }
        let is_named = |left: &&NotStaged| left.why != NotStagedReason::BuildOutput;
        for left in back.not_staged.iter().filter(is_named) {
            output::note(&format!("not kept: {} ({:?})", output::one_line(&left.path.to_string()), left.why));
        }
        if let Some(why) = git_refused {
            output::note(&format!("what it did to the repository is not applied: {}", output::one_line(why)));
        }
        if 0 < refused.network {
            output::note("it needs a network, and a view has none; --network gives it this machine's");
        }
        if refused.privileges {
            output::note("it asked for more privileges, and a view gives none");
        }
        if refused.tracing {
            output::note("it wanted to look into a process as a debugger does, and a view refuses that");
        }
        if refused.renaming {
            output::note(
                "it wanted to rename a folder as a whole, or across file systems, which a view cannot",
            );
        }
        if !refused.outside.is_empty() {
            let paths = refused.outside.iter().map(|path| output::one_line(&path.to_string_lossy()));
            output::note(&format!("written outside the workspace, and gone with the view: {}", list(paths)));
        }
        for conflict in conflicts {
            output::note(&format!("conflict: {}", output::conflict_line(conflict)));
        }
        output::note(&match (applied, back.changes.is_empty() && git.is_none()) {
            (true, _) => "applied; headstart undo takes it back".to_owned(),
            (false, true) if !back.ignored.is_empty() => {
                let paths = back.ignored.iter().map(|path| output::one_line(&path.to_string()));
                format!("no file was changed in the view, except below what is not kept: {}", list(paths))
            }
            (false, true) => "no file was changed in the view".to_owned(),
            (false, false) => "nothing was written to the workspace".to_owned(),
        });
    }
}

pub(super) fn open(of: &WorkspaceArg, context: &Context) -> Result<(String, Config, Views), CliError> {
    let (workspace, config, state) = configured(of, context)?;
    let views = views(&workspace, &config, state.as_ref(), context);
    Ok((workspace, config, views))
}

fn configured(of: &WorkspaceArg, context: &Context) -> Result<(String, Config, Option<Store>), CliError> {
    let workspace = workspace::resolve(of.path.as_deref())?;
    let config = context.config(&Flags::default(), Path::new(&workspace))?;
    Ok((workspace, config, context.store().ok()))
}

fn views(workspace: &str, config: &Config, state: Option<&Store>, context: &Context) -> Views {
    setup::any_views(config, workspace, &context.environment, state.map(Store::state_folder))
}

/// The other machine, if the user's file names one.
fn remote(workspace: &str, config: &Config, state: Option<&Store>, context: &Context) -> Option<Remote> {
    let (settings, quota) = (&config.shadow, config.limits.staged);
    Remote::new(Path::new(workspace), settings, quota, &context.environment, state.map(Store::state_folder))
}

/// The changes that a speculation staged, if they have not been accepted yet.
pub(super) fn staged_by(
    id: &str,
    of: &WorkspaceArg,
    context: &Context,
) -> Result<(ChangeSet, Option<GitChange>), CliError> {
    let store = context.store()?;
    let scope = Scope { all: false, workspace: WorkspaceArg { path: of.path.clone() } };
    let of = IdArgs { id: id.to_owned(), scope };
    let record = store.read(&scope::find(&store, &of, Purpose::Read)?)?;
    record.finished.map(|finished| (finished.changes, finished.git)).ok_or_else(|| {
        let problem = "has no work that could be shown in a view".to_owned();
        CliError::WrongState { id: id.to_owned(), problem }
    })
}
