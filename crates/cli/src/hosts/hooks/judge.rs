//! The verdict on a call and the answer to it, from the gate and from the conditions on this machine.

use std::path::{Path, PathBuf};

use headstart_budget::policy::Mode;
use headstart_machine::config::{Flags, LedgerDetail};
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::runner::BashRunner;
use headstart_machine::shell_words::shell_line;
use headstart_tool_gate::{ConditionalCommand, Decision, ElsewhereVerdict, Gate};

use super::answer::{CommandForm, HookAnswer, decide};
use super::contract::Contract;
use super::message::HookCall;
use super::{execution_context, on_disk};

/// The flags of a hook.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AnswerFlags {
    /// Whether a command that a deny rule covers is refused; without this the product only asks.
    pub(crate) denies: bool,
    /// Whether an allowed command runs unchanged, even if the product would accept a confined one in its place.
    pub(crate) as_text: bool,
}

/// A call that was judged.
pub(crate) struct JudgedCall {
    pub(crate) elsewhere: ElsewhereVerdict,
    pub(crate) answer: HookAnswer,
    /// Whether the user wants answers to be recorded.
    pub(crate) is_kept: bool,
}

/// Judges a call by the rules of the user and of the project.
pub(crate) fn judge(
    contract: &Contract,
    call: &HookCall,
    flags: AnswerFlags,
    context: &Context,
) -> Result<JudgedCall, CliError> {
    let directory = Path::new(&call.directory);
    if !directory.is_dir() {
        return Err(CliError::NoWorkspace { path: directory.to_owned() });
    }
    let workspace = execution_context::workspace(contract, call, &context.environment);
    let named =
        workspace.to_str().ok_or_else(|| CliError::WorkspaceNotUtf8 { path: workspace.clone() })?.to_owned();
    let config = context.config(&Flags::default(), &workspace)?;
    let rules = config.gate_context(named)?;
    let elsewhere = Gate::new().judge_elsewhere(&call.args, &call.directory, &rules);
    let confines = contract.takes_other_command && !flags.as_text;
    let is_off = (config.background.mode == Mode::Off)
        .then(|| "what headstart does unasked is switched off".to_owned());
    let asks_nothing = || (!call.asks).then(|| "nothing is asked in this mode".to_owned());
    let objection =
        is_off.or_else(asks_nothing).or_else(|| execution_context::of_folder(directory, &workspace));
    let (form, objection) = if confines {
        let program = program();
        let objection = objection
            .or_else(|| of_confined(&program, &workspace, context))
            .or_else(|| of_machine(&elsewhere, call.command(), &workspace));
        (CommandForm::Confined { line: confined_line(&program, call, &workspace) }, objection)
    } else {
        let of_text = || execution_context::of_text(contract, &context.environment, &workspace, &elsewhere);
        // What runs as it is has no second wall, so the disk has the last word.
        let of_disk = || {
            let is_allowed = elsewhere.verdict.decision == Decision::Allow;
            is_allowed.then(|| on_disk::objection(&workspace, &elsewhere.reads, &rules.deny)).flatten()
        };
        (CommandForm::AsText, objection.or_else(of_text).or_else(of_disk))
    };
    let answer = decide(contract, &elsewhere, form, flags.denies, objection);
    Ok(JudgedCall { elsewhere, answer, is_kept: config.ledger != LedgerDetail::Nothing })
}

fn of_confined(program: &Path, workspace: &Path, context: &Context) -> Option<String> {
    if !headstart_shadow::can_confine() {
        return Some(
            "this system cannot confine a command (Linux 5.13 and later can); --text allows it as it is"
                .to_owned(),
        );
    }
    if program.to_str().is_none() || !program.is_file() {
        return Some("the file of headstart was moved, and nothing else could run the command".to_owned());
    }
    let path = context.environment.get("PATH").unwrap_or_default();
    if let Some(folder) = headstart_shadow::open_folder_around(workspace, path) {
        return Some(format!(
            "the workspace is in {}, which every confined command can read, so no file of it could be closed",
            folder.display()
        ));
    }
    execution_context::of_confined(&context.environment, workspace, program)
}

/// Why the machine is not as the command needs it: git is too old, say, or the repository names programs.
fn of_machine(judged: &ElsewhereVerdict, command: &str, workspace: &Path) -> Option<String> {
    let command = ConditionalCommand::allowed(command, judged.verdict.hardened.as_ref());
    if !command.is_conditional() {
        return None;
    }
    // Git is asked for its version, which waits for a process, so the hook starts no runtime for other commands.
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(BashRunner::new(workspace.to_owned()).objection(&command)),
        Err(error) => Some(format!("the version of git cannot be asked for: {error}")),
    }
}

/// The path of this program, so that no alias and no search path can replace it.
fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
}

/// The command line that judges the command again and runs it confined.
fn confined_line(program: &Path, call: &HookCall, workspace: &Path) -> String {
    let mut words = vec![program.to_string_lossy().into_owned(), "run".to_owned(), "--read-only".to_owned()];
    if workspace != Path::new(&call.directory) {
        words.extend(["--workspace".to_owned(), workspace.to_string_lossy().into_owned()]);
    }
    words.extend(["--".to_owned(), call.command().to_owned()]);
    shell_line(words)
}
