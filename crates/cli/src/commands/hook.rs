//! `headstart hook HOST`: permission hooks of other products.

use std::path::{Path, PathBuf};

use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::printable;
use headstart_machine::store::{Store, create_private_folder};
use headstart_machine::{output, workspace};
use serde::Serialize;
use serde_json::json;

use crate::args::Hook;
use crate::hosts::hooks::answer::HookAnswer;
use crate::hosts::hooks::contract::{Contract, contract};
use crate::hosts::hooks::judge::{self, AnswerFlags};
use crate::hosts::hooks::message::HookCall;
use crate::hosts::hooks::serve;
use crate::hosts::hooks::settings::{self, Problem, SettingsScope};

/// The answer to a command, with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "hookCheck")]
struct HookCheck<'a> {
    host: &'a str,
    answer: &'a str,
    why: &'a str,
    verdict: headstart_tool_gate::Decision,
    reason: headstart_tool_gate::Reason,
    /// The command that runs in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
}

/// The result of a change of settings, with `--json`.
#[derive(Serialize)]
#[serde(tag = "type", rename = "hookSettings")]
struct InstallReport<'a> {
    host: &'a str,
    file: &'a Path,
    changed: bool,
    /// The command that the product starts; `None` if it does not start headstart any more.
    command: Option<&'a str>,
    /// The file that switches all hooks of the product off.
    #[serde(skip_serializing_if = "Option::is_none")]
    off: Option<&'a Path>,
}

pub(crate) fn run(args: &Hook, context: &Context) -> Result<ExitStatus, CliError> {
    let contract = contract(&args.host).expect("works because the command line takes no other");
    let flags = AnswerFlags { denies: args.deny, as_text: args.text };
    match &args.check {
        Some(command) => check(contract, command, flags, context)?,
        None if args.install || args.print => install(contract, args, context)?,
        None if args.uninstall => uninstall(contract, args, context)?,
        None => serve(contract, flags, args.log_content, context),
    }
    Ok(ExitStatus::Done)
}

fn install(contract: &'static Contract, args: &Hook, context: &Context) -> Result<(), CliError> {
    let file = settings::file(&contract.settings, scope(args), &context.environment)?;
    let before = settings::read(&file)?;
    // Only --uninstall takes a refusal away.
    let keeps_deny = !args.deny && settings::denies(contract, &before);
    let denies = args.deny || keeps_deny;
    if cfg!(windows) && !denies {
        return Err(CliError::Unavailable(
            "on Windows a hook allows nothing, because no command can be confined there and no text is read as its \
             shell reads it; with --deny it refuses what touches denied paths"
                .to_owned(),
        ));
    }
    if !contract.takes_allow && !denies {
        return Err(CliError::Unavailable(format!(
            "{} asks whatever a hook allows, so this one can only refuse: use --deny as well",
            contract.product
        )));
    }
    let flags = [(denies, "--deny"), (args.text, "--text"), (args.log_content, "--log-content")];
    let mut flags: Vec<_> = flags.into_iter().filter_map(|(is_set, flag)| is_set.then_some(flag)).collect();
    let state = state_flag(context)?;
    if let Some(folder) = &state {
        if scope(args) == SettingsScope::Project {
            return Err(CliError::Unavailable(
                "settings of a project are for several machines, so they name no state folder: leave out --state-dir"
                    .to_owned(),
            ));
        }
        flags.extend(["--state-dir", folder]);
    }
    let command = settings::command(contract, scope(args), &flags, &context.environment)?;
    let refused = |problem: Problem| problem.of_file(&file);
    let entry = settings::with_entry(contract, "", &command).map_err(refused)?.unwrap_or_default();
    if args.print {
        return output::print(&format!(
            "{}:\n{}",
            output::one_line(&file.display().to_string()),
            printable(&entry)
        ));
    }
    let after = settings::with_entry(contract, &before, &command).map_err(refused)?;
    if let Some(after) = &after {
        let is_new = !file.exists();
        let folders = file.ancestors().skip(1).take_while(|folder| !folder.exists()).count();
        settings::replace(&file, &before, after)?;
        if is_new {
            MadeFile::of(&file, context).note(folders);
        }
    }
    let off = settings::switched_off(&contract.settings, &context.environment);
    if context.output.is_json() {
        let (changed, command) = (after.is_some(), Some(&*command));
        return output::print_json(&InstallReport {
            host: contract.name,
            file: &file,
            changed,
            command,
            off: off.as_deref(),
        });
    }
    let shown = output::one_line(&file.display().to_string());
    let mut lines = vec![match after {
        Some(_) => format!("written to {shown}:\n{}", printable(&entry)),
        None => format!("{shown} has it already\n"),
    }];
    lines.extend(
        keeps_deny.then(|| "--deny was in the entry and stays; --uninstall takes it out\n".to_owned()),
    );
    lines.extend(off.map(|file| told_off(contract, &file)));
    lines.extend(contract.settings.remark.map(|remark| format!("{remark}\n")));
    if contract.takes_other_command && !args.text && !cfg!(windows) && !headstart_shadow::can_confine() {
        let remark = "This system cannot confine a command, so nothing will be allowed. --text allows commands as they are.";
        lines.push(format!("{remark}\n"));
    }
    output::print(&lines.concat())
}

/// The note in the state folder that a settings file was not there before headstart made it, and how many of the folders
/// above it were not. Without it they stay when the last entry is taken out, so it is no error if it cannot be kept.
struct MadeFile(Option<PathBuf>);

impl MadeFile {
    fn of(file: &Path, context: &Context) -> Self {
        let note = |store: Store| store.state_folder().join("hooks").join(workspace::state_name(file));
        Self(context.store().ok().map(note))
    }

    fn note(&self, folders: usize) {
        if let Some(note) = &self.0 {
            let folder = note.parent().map_or(Ok(()), create_private_folder);
            let _ = folder.map(|()| std::fs::write(note, folders.to_string()));
        }
    }

    /// Removes the folders that were made for the file, as far as they are empty.
    fn remove_folders(&self, file: &Path) {
        let text = self.0.as_ref().and_then(|note| std::fs::read_to_string(note).ok()).unwrap_or_default();
        let made = file.ancestors().skip(1).take(text.parse().unwrap_or(0));
        let _ = made.map(std::fs::remove_dir).find(Result::is_err);
    }

    fn is_noted(&self) -> bool {
        self.0.as_ref().is_some_and(|note| note.is_file())
    }

    fn forget(&self) {
        let _ = self.0.as_ref().map(std::fs::remove_file);
        // The folder of the notes goes with the last of them.
        let _ = self.0.as_ref().and_then(|note| note.parent()).map(std::fs::remove_dir);
    }
}

/// The state folder, if it was named on the command line: the product starts the hook without that. A variable, however,
/// the product passes on.
fn state_flag(context: &Context) -> Result<Option<String>, CliError> {
    let Some(folder) = &context.state_dir else { return Ok(None) };
    if context.environment.get("HEADSTART_STATE_DIR").is_some() {
        return Ok(None);
    }
    let folder = std::path::absolute(folder).map_err(CliError::io("find", folder))?;
    Ok(Some(folder.to_string_lossy().into_owned()))
}

fn uninstall(contract: &'static Contract, args: &Hook, context: &Context) -> Result<(), CliError> {
    let file = settings::file(&contract.settings, scope(args), &context.environment)?;
    let before = settings::read(&file)?;
    let after = settings::without_entry(contract, &before).map_err(|problem| problem.of_file(&file))?;
    let made = MadeFile::of(&file, context);
    let is_own = || file.file_stem().is_some_and(|name| name == "headstart") || made.is_noted();
    match &after {
        // The file is there only because of headstart's entries, so it goes with them.
        Some(after) if settings::is_bare(after) && !file.is_symlink() && is_own() => {
            std::fs::remove_file(&file).map_err(CliError::io("remove", &file))?;
            made.remove_folders(&file);
        }
        Some(after) => settings::replace(&file, &before, after)?,
        None => {}
    }
    if after.is_some() {
        made.forget();
    }
    if context.output.is_json() {
        let changed = after.is_some();
        return output::print_json(&InstallReport {
            host: contract.name,
            file: &file,
            changed,
            command: None,
            off: None,
        });
    }
    let shown = output::one_line(&file.display().to_string());
    output::print(&match after {
        Some(_) => format!("taken out of {shown}\n"),
        None => format!("{shown} has no hook of headstart's\n"),
    })
}

/// That a file switches all hooks of the product off.
fn told_off(contract: &Contract, file: &Path) -> String {
    let file = output::one_line(&file.display().to_string());
    format!("{} runs no hook at all: {file} says \"disableAllHooks\": true\n", contract.product)
}

fn scope(args: &Hook) -> SettingsScope {
    if args.project { SettingsScope::Project } else { SettingsScope::User }
}

fn check(
    contract: &'static Contract,
    command: &str,
    flags: AnswerFlags,
    context: &Context,
) -> Result<(), CliError> {
    let (event, shape) = contract.events[0];
    let args = json!({ "command": command }).as_object().cloned().unwrap_or_default();
    let directory = workspace::resolve(None)?;
    let call = HookCall { event, shape, args, directory, asks: true, roots: Vec::new() };
    let judged = judge::judge(contract, &call, flags, context)?;
    let (why, line) = match &judged.answer {
        HookAnswer::Allow { why, line } => (why, line.as_deref()),
        HookAnswer::Deny { why } | HookAnswer::Silent { why } => (why, None),
    };
    let verdict = &judged.elsewhere.verdict;
    if context.output.is_json() {
        return output::print_json(&HookCheck {
            host: contract.name,
            answer: judged.answer.name(),
            why,
            verdict: verdict.decision,
            reason: verdict.reason,
            command: line,
        });
    }
    let product = contract.product;
    let mut lines = vec![match &judged.answer {
        HookAnswer::Allow { .. } => format!("allow: {product} does not ask\n"),
        HookAnswer::Deny { .. } => format!("deny: {product} does not run it\n"),
        HookAnswer::Silent { .. } => format!("no answer: {product} does as it does without this hook\n"),
    }];
    lines.push(format!("  {}\n", output::one_line(why)));
    lines.extend(line.map(|line| format!("  it runs: {}\n", output::one_line(line))));
    let off = settings::switched_off(&contract.settings, &context.environment);
    lines.extend(off.map(|file| format!("  but {}", told_off(contract, &file))));
    if matches!(judged.answer, HookAnswer::Allow { .. }) {
        lines.push(format!(
            "  deny rules of {product}'s own are not read here, and {product} may still refuse it\n"
        ));
    }
    output::print(&lines.concat())
}
