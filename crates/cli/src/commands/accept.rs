use std::io;
use std::path::Path;
use std::sync::Arc;

use headstart_budget::outcome_of_acceptance;
use headstart_forked_query::{Message, ToolCall};
use headstart_git_ahead::{GitChange, GitError};
use headstart_machine::config::{self, Flags};
use headstart_machine::conflicting_commits::{CommitOffer, ConflictingCommits};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::host::NativeHost;
use headstart_machine::index;
use headstart_machine::models::Models;
use headstart_machine::setup::AcceptingProcess;
use headstart_machine::store::{LockedSpeculation, Record, SpeculationState};
use headstart_machine::{accounts, output, setup, workspace};
use headstart_overlay_fs::{ChangeSummary, Conflict, LeftOut, SystemError, TreeError, WorkspacePath};
use headstart_providers::Recording;
use headstart_speculation::{AcceptError, Acceptance, Accepted, Ending, Freshness, Status};
use headstart_tool_gate::{AheadWrites, Reason, Verdict};
use headstart_toolbox::Toolbox;
use serde::Serialize;

use super::scope::{self, Purpose};
use crate::args::Accept;

/// The result with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum AcceptReport<'a> {
    Accepted {
        id: &'a str,
        /// How the work ended. Unless it was completed, the turn is not over.
        status: Status,
        changes: &'a [ChangeSummary],
        /// What it changed in the repository, in a few words.
        #[serde(skip_serializing_if = "Option::is_none")]
        git: Option<String>,
        /// What it wrote or removed and this did not bring.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        not_kept: &'a [LeftOut],
        /// Those of the changed files that also contain edits of the user's.
        merged: &'a [WorkspacePath],
        /// The messages to append to the conversation.
        transcript: &'a [Message],
        /// The call that waits for consent, which is not part of the transcript.
        pending_call: Option<&'a ToolCall>,
        next: Option<&'a str>,
        time_saved_ms: u64,
        /// The paths that the user changed since the last command ran in a view.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        changed_since_view: &'a [WorkspacePath],
    },
    Conflict {
        id: &'a str,
        conflicts: &'a [Conflict],
        /// What can be done with its commits instead, if git was used meanwhile.
        #[serde(skip_serializing_if = "Option::is_none")]
        commits: Option<&'a CommitOffer>,
    },
    Withdrawn {
        id: &'a str,
        call: &'a ToolCall,
        verdict: &'a Verdict,
    },
}

/// Applies a speculation's changes to its workspace.
pub(crate) async fn run(args: Accept, context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let id = scope::find(&store, &args.of, Purpose::Change { verb: "accept", context })?;
    let record = store.read(&id)?;
    if store.is_alive(&record)? {
        let problem = format!("still runs, in process {}; wait for it, or abort it", record.owner.pid);
        return Err(CliError::WrongState { id: id.to_string(), problem });
    }
    let mut locked = store.lock(&id)?;
    let repeated = locked.begin_accept()?;
    let before = if args.keep_ignored { locked.keep_left_out()? } else { None };
    let acceptance = accept(&args, &locked, repeated, context).await;
    if let Some(before) = before.filter(|_| !matches!(acceptance, Ok(Acceptance::Accepted(_)))) {
        locked.put_back(before)?;
    }
    let acceptance = acceptance?;
    if matches!(acceptance, Acceptance::Accepted(_)) {
        locked.mark(SpeculationState::Accepted).inspect_err(|_| {
            output::note("the changes are in the workspace, but that could not be noted; accept it once more when it can be");
        })?;
    }
    locked.end_accept();
    accounts::decided(context, locked.record(), outcome_of_acceptance(&acceptance));
    let record = locked.record();
    if let (Acceptance::Conflict(conflicts), Some(finished)) = (&acceptance, &record.finished) {
        let (workspace, state) = (Path::new(&record.workspace), Some(store.state_folder()));
        let commits =
            ConflictingCommits::of(workspace, state, (id.as_str(), finished.git.as_ref()), conflicts);
        return report_conflict(record, conflicts, commits.as_ref(), &args, context);
    }
    let result = report(record, &acceptance, args.keep_ignored, context);
    if let Acceptance::Accepted(accepted) = &acceptance {
        let paths = accepted.changes.iter().flat_map(|change| [Some(&change.path), change.from.as_ref()]);
        let paths = paths.flatten().chain(&accepted.merged).cloned().collect();
        index::note_changed(Path::new(&record.workspace), &paths, context).await;
    }
    result
}

/// Reports that nothing was changed, and what the user can do about that.
fn report_conflict(
    record: &Record,
    conflicts: &[Conflict],
    commits: Option<&ConflictingCommits>,
    args: &Accept,
    context: &Context,
) -> Result<ExitStatus, CliError> {
    let id = record.id.as_str();
    let failed = |error: GitError| CliError::Unavailable(error.to_string());
    let offer = match commits {
        Some(commits) if args.keep_commits => commits.keep().map_err(failed)?,
        // An error here must not hide the conflict itself.
        Some(commits) => commits.offer().ok().flatten(),
        None => None,
    };
    if context.output.is_json() {
        output::print_json(&AcceptReport::Conflict { id, conflicts, commits: offer.as_ref() })?;
    }
    for conflict in conflicts {
        output::note(&format!("conflict: {}", output::conflict_line(conflict)));
    }
    let Some((commits, offer)) = commits.zip(offer) else {
        output::note("nothing was changed; speculate again, or abort it");
        return Ok(ExitStatus::Conflict);
    };
    if args.keep_commits {
        output::note(&format!(
            "its {} is kept as {}, and nothing else was changed",
            commits.counted(),
            offer.name
        ));
        output::note(&format!("{}; headstart abort {id} drops the rest of the work", offer.merge_advice()));
        return Ok(ExitStatus::Conflict);
    }
    output::note("nothing was changed; speculate again, or abort it");
    output::note(&format!(
        "headstart accept {id} --keep-commits keeps its {} as {}; then {}",
        commits.counted(),
        offer.name,
        offer.merge_advice()
    ));
    Ok(ExitStatus::Conflict)
}

async fn accept(
    args: &Accept,
    locked: &LockedSpeculation,
    repeated: bool,
    context: &Context,
) -> Result<Acceptance, CliError> {
    let record = locked.record();
    let workspace = workspace::of_record(record)?;
    let Some(finished) = record.finished.as_ref().filter(|_| record.state == SpeculationState::Finished)
    else {
        let problem = format!("is {}, so there is nothing to accept", record.status_word(false));
        return Err(CliError::WrongState { id: record.id.to_string(), problem });
    };
    // A mode that was given on the speculation's command line still applies; one that came from a file or the
    // environment is read again.
    let mode = args.mode.mode.or_else(|| record.mode_by_flag.then_some(record.mode));
    let config = context.config(&Flags { mode, ..Flags::default() }, Path::new(&workspace))?;
    let fresh = if args.require_fresh { Freshness::Require } else { config.shadow.fresh };
    let mut rules = config.gate_context(workspace.clone())?;
    if record.conversation.is_some() {
        // These are edits of the user's own turns.
        rules.ahead_writes = AheadWrites::Ask;
    }
    let host = NativeHost::unattended(rules)
        .repeated(repeated)
        .at_boundary(config.at_boundary)
        .for_workspace(&workspace, fresh);
    let host = Arc::new(host);
    // An accept sends no request to a model.
    let silent = Models::of_recording(Recording::default(), 1.0).background;
    let tree =
        setup::tree(Path::new(&workspace), Some(context.store()?.state_folder()), AcceptingProcess::Another)?;
    // No command runs here: an accept only judges what ran, and commits.
    let engine = setup::engine(Arc::new(tree), Toolbox::standard(None), silent, host, &config.limits, None);
    let accepted = match engine.accept(finished).await {
        // A user who names the work on a command line thereby agrees to it.
        Ok(Acceptance::NeedsApproval(asks)) => engine.accept_with(finished, &asks.approve()).await,
        accepted => accepted,
    };
    accepted.map_err(|error| match error {
        AcceptError::Tree(TreeError::Io { path, message, source: Some(system) }) if is_refused(&system) => {
            CliError::NotAccepted { id: record.id.to_string(), workspace: workspace.into(), path, message }
        }
        error => error.into(),
    })
}

/// Whether the system refuses any write there, in which case nothing was begun.
fn is_refused(system: &SystemError) -> bool {
    matches!(system.kind, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn report(
    record: &Record,
    acceptance: &Acceptance,
    keep_ignored: bool,
    context: &Context,
) -> Result<ExitStatus, CliError> {
    let id = record.id.as_str();
    let json = context.output.is_json();
    match acceptance {
        Acceptance::Accepted(accepted) if json => {
            output::print_json(&AcceptReport::Accepted {
                id,
                status: accepted.ending.status(),
                changes: &accepted.changes,
                git: accepted.git.as_deref().map(GitChange::summary),
                not_kept: &accepted.not_kept,
                merged: &accepted.merged,
                transcript: &accepted.transcript.messages,
                pending_call: accepted.transcript.pending_call(),
                next: accepted.next.as_deref(),
                time_saved_ms: accepted.time_saved_ms,
                changed_since_view: &accepted.changed_since_view,
            })?;
            Ok(of_accepted(accepted))
        }
        Acceptance::Accepted(accepted) => {
            output::print(&finished_text(id, accepted, keep_ignored))?;
            if !matches!(accepted.ending, Ending::Completed | Ending::Boundary { .. }) {
                output::note(&format!("not finished: {}", super::show::ending(&accepted.ending)));
            }
            Ok(of_accepted(accepted))
        }
        Acceptance::Withdrawn { call, verdict } => {
            if json {
                output::print_json(&AcceptReport::Withdrawn { id, call, verdict })?;
            }
            let call = output::call_on_one_line(call);
            output::note(&format!("not allowed any more: {call}: {}", output::one_line(&verdict.detail)));
            output::note(&format!("nothing was changed; {}", remedy(verdict, record, context)));
            Ok(ExitStatus::Boundary)
        }
        Acceptance::Discarded => {
            let problem = "stopped at a call that needs your consent, and at_boundary = \"discard\" takes nothing of it";
            Err(CliError::WrongState { id: id.to_owned(), problem: problem.to_owned() })
        }
        _ => {
            let problem = "did nothing that could be accepted".to_owned();
            Err(CliError::WrongState { id: id.to_owned(), problem })
        }
    }
}

/// Where to look if something that ran is not allowed any more.
fn remedy(verdict: &Verdict, record: &Record, context: &Context) -> String {
    let rules = match verdict.reason {
        Reason::DeniedPath => "deny rules are",
        Reason::Policy => "policies are",
        _ => return "--mode says what may run".to_owned(),
    };
    let users = config::user_file(&context.environment).map(|file| format!("{} and ", file.display()));
    let projects = Path::new(&record.workspace).join(config::PROJECT_FILE);
    format!("{rules} in {}{}", users.unwrap_or_default(), projects.display())
}

/// The exit status of an accept. A call that waits for consent still has to be asked about.
fn of_accepted(accepted: &Accepted) -> ExitStatus {
    match accepted.ending {
        Ending::Boundary { .. } => ExitStatus::Boundary,
        _ => ExitStatus::Done,
    }
}

fn finished_text(id: &str, accepted: &Accepted, keep_ignored: bool) -> String {
    let mut lines: Vec<String> = accepted.changes.iter().map(output::change_line).collect();
    lines.extend(accepted.git.iter().flat_map(|git| output::git_lines(git)));
    let undo = (!lines.is_empty()).then(|| format!("headstart undo {id} takes it back"));
    if lines.is_empty() {
        lines.push("no file was to be changed".to_owned());
    }
    lines.extend(accepted.merged.iter().map(output::merged_line));
    // Who asks for it wants to know why it is not here.
    let not_kept = if keep_ignored { output::not_kept_because } else { output::not_kept_line };
    lines.extend(not_kept(&accepted.not_kept));
    lines.extend(output::stale_line(accepted.changed_since_view.len()));
    if let Some(call) = accepted.transcript.pending_call() {
        lines.push(format!("not run, for it needs your consent: {}", output::call_on_one_line(call)));
    }
    lines.extend(undo);
    lines.push(String::new());
    lines.join("\n")
}
