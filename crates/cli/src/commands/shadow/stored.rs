//! `shadow list` and `shadow clean`: the views of all processes, and what is stored for later views.

use headstart_machine::clock;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output;
use headstart_machine::views::{all_stored, processes};
use headstart_machine::workspace;
use headstart_shadow::Tier;
use serde::Serialize;

use crate::args::WorkspaceArg;
use crate::serve::{all_copies, remove_copy};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum StoredEntry<'a> {
    View {
        id: &'a str,
        workspace: &'a str,
        tier: Tier,
        /// The process that holds the view.
        owner: u32,
        /// In milliseconds since the Unix epoch.
        started: u64,
        used: u64,
        running: bool,
        processes: usize,
        memory_bytes: u64,
        disk_bytes: u64,
    },
    /// Build output that is stored for later views of a workspace.
    Warm {
        workspace: &'a str,
        folders: Vec<&'a str>,
        bytes: u64,
        used: u64,
        current: bool,
    },
    /// The copy of a workspace from another machine.
    Copy {
        workspace: &'a str,
        bytes: u64,
        used: u64,
    },
    Cleaned {
        workspace: &'a str,
        bytes: u64,
        left: bool,
    },
}

pub(super) fn list(context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let all = all_stored(store.state_folder()).map_err(CliError::state(store.state_folder()))?;
    let now = clock::unix_ms();
    let mut is_any = false;
    for kept in &all {
        for view in &kept.views {
            let processes = processes(view.process);
            let line = StoredEntry::View {
                id: &view.id,
                workspace: &view.workspace,
                tier: view.tier,
                owner: view.owner,
                started: view.started,
                used: view.used,
                running: view.is_running,
                processes,
                memory_bytes: view.memory_bytes,
                disk_bytes: view.disk_bytes,
            };
            let state = if view.is_running {
                "running".to_owned()
            } else {
                format!("idle {}", output::age(now.saturating_sub(view.used)))
            };
            let text = format!(
                "{}  {}  {state}  {processes} processes  {} in memory, {} on disk  {}",
                view.id,
                view.tier,
                size(view.memory_bytes),
                size(view.disk_bytes),
                view.workspace
            );
            print_entry(context, &line, &text)?;
            is_any = true;
        }
        let workspace = kept.name();
        if let Some((record, current)) = kept.warm().stored() {
            let mut folders: Vec<&str> =
                record.layers.iter().flat_map(|layer| layer.folders.iter().map(String::as_str)).collect();
            folders.sort_unstable();
            folders.dedup();
            let bytes = record.bytes();
            let serves =
                if current { "for the next views" } else { "out of date, as the folder on disk is another" };
            let text = format!("warm  {}  {}  {serves}  {workspace}", folders.join(", "), size(bytes));
            print_entry(
                context,
                &StoredEntry::Warm { workspace: &workspace, folders, bytes, used: record.used, current },
                &text,
            )?;
            is_any = true;
        }
    }
    for (_, info) in all_copies(store.state_folder()) {
        let (workspace, bytes, used) = (info.workspace.as_str(), info.bytes, info.used);
        let age = output::age(now.saturating_sub(used));
        let text = format!("copy  {}  used {age} ago  {workspace} of another machine", size(bytes));
        print_entry(context, &StoredEntry::Copy { workspace, bytes, used }, &text)?;
        is_any = true;
    }
    if !is_any && !context.output.is_json() {
        output::note("no view is held, and no build output is kept");
    }
    Ok(ExitStatus::Done)
}

pub(super) fn clean(all: bool, of: &WorkspaceArg, context: &Context) -> Result<ExitStatus, CliError> {
    let store = context.store()?;
    let wanted = if all { None } else { Some(workspace::resolve(of.path.as_deref())?) };
    let kept = all_stored(store.state_folder()).map_err(CliError::state(store.state_folder()))?;
    for kept in kept {
        let name = kept.name();
        if wanted.as_ref().is_some_and(|wanted| *wanted != name) {
            continue;
        }
        let warm = kept.warm();
        let bytes = warm.bytes();
        let left = !warm.clear();
        kept.remove_if_unused();
        let text = if left {
            format!("kept     a view lies over some of it; run this again when it has ended  {name}")
        } else {
            format!("removed  {}  {name}", size(bytes))
        };
        print_entry(context, &StoredEntry::Cleaned { workspace: &name, bytes, left }, &text)?;
    }
    for (folder, info) in all_copies(store.state_folder()).into_iter().filter(|_| all) {
        let (workspace, bytes) = (info.workspace.as_str(), info.bytes);
        let left = !remove_copy(&folder);
        let what = if left { "kept     a connection uses it" } else { "removed" };
        let text = format!("{what}  {}  {workspace} of another machine", size(bytes));
        print_entry(context, &StoredEntry::Cleaned { workspace, bytes, left }, &text)?;
    }
    Ok(ExitStatus::Done)
}

fn print_entry(context: &Context, line: &StoredEntry<'_>, text: &str) -> Result<(), CliError> {
    if context.output.is_json() {
        return output::print_json(line);
    }
    output::print(&format!("{}\n", output::printable(text)))
}

pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes.div_ceil(1 << 10)),
        _ => format!("{} MiB", bytes.div_ceil(1 << 20)),
    }
}
