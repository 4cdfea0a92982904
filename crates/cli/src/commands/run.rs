//! `headstart run --read-only`: runs a command that provably only reads, as work ahead would run it.

use std::path::Path;
use std::time::Duration;

use headstart_machine::config::Flags;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;
use headstart_machine::runner::{AttachedOutput, BashRunner};
use headstart_machine::shell_words::shell_line;
use headstart_machine::system::{signal_of, signals};
use headstart_machine::{output, workspace};
use headstart_overlay_fs::WorkspacePath;
use headstart_shadow::NOT_CONFINED;
use headstart_tool_gate::{ConditionalCommand, Decision, Gate};
use headstart_toolbox::{CommandEnvironment, CommandRequest, SecretAccess};
use serde_json::{Map, Value, json};

use crate::args::Run;

/// The most bytes of each stream that `--json` tells, half from its beginning and half from its end.
const MOST_TOLD: usize = 64 * 1024;

/// The exit code of a command that took too long, as that of `timeout`.
const TIMED_OUT: u8 = 124;

pub(crate) async fn run(args: Run, context: &Context) -> Result<ExitStatus, CliError> {
    let command = line(args.command);
    let directory = workspace::resolve(None)?;
    let workspace = workspace::resolve(args.workspace.path.as_deref())?;
    let config = context.config(&Flags::default(), Path::new(&workspace))?;
    let rules = config.gate_context(workspace.clone())?;
    let call = Map::from_iter([("command".to_owned(), Value::from(command.clone()))]);
    let verdict = Gate::new().judge_elsewhere(&call, &directory, &rules).verdict;
    let directory = match WorkspacePath::resolve(&directory, &workspace) {
        Ok(directory) if verdict.decision == Decision::Allow => directory,
        Ok(_) => return not_run(&format!("{}: {}", verdict.reason.as_str(), verdict.detail), context),
        Err(error) => return not_run(&error.to_string(), context),
    };
    let request = CommandRequest {
        command: ConditionalCommand::allowed(&command, verdict.hardened.as_ref()),
        directory,
        environment: CommandEnvironment::Clean,
        secrets: SecretAccess::of(&rules.deny),
        deny: rules.deny.clone(),
        time_limit: Duration::from_secs(args.timeout),
        output_limit: usize::MAX,
    };
    let is_json = context.output.is_json();
    let kept = if is_json { AttachedOutput::Kept { most: MOST_TOLD } } else { AttachedOutput::Inherited };
    let runner = BashRunner::new(workspace.into());
    if let Some(why) = runner.objection(&request.command).await {
        return not_run(&why, context);
    }
    let ended = match runner.run_attached(&request, kept).await {
        Ok(ended) => ended,
        Err(error) => return not_run(&error.to_string(), context),
    };
    let status = ended.status;
    if is_json {
        let (output, errors) = (&ended.output.text, &ended.errors.text);
        let mut report =
            json!({ "ran": true, "exitCode": status.code(), "output": output, "errors": errors });
        if ended.output.is_cut || ended.errors.is_cut {
            report["truncated"] = true.into();
        }
        if ended.timed_out {
            report["timedOut"] = true.into();
        }
        output::print_json(&report)?;
    }
    if ended.timed_out {
        if !is_json {
            output::note(&format!("headstart: the command was ended after {} s (--timeout)", args.timeout));
        }
        return Ok(ExitStatus::Of(TIMED_OUT));
    }
    let Some(signal) = signal_of(status) else {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        return Ok(ExitStatus::Of(code.unwrap_or(u8::MAX)));
    };
    signals::end_as(signal);
    // The exit code with which a shell reports the signal, if the signal did not end this process.
    Ok(ExitStatus::Of(u8::try_from(128 + signal).unwrap_or(u8::MAX)))
}

/// A single argument is already a command line.
fn line(mut words: Vec<String>) -> String {
    if words.len() == 1 {
        return words.remove(0);
    }
    shell_line(words)
}

/// Says why the command did not run.
fn not_run(why: &str, context: &Context) -> Result<ExitStatus, CliError> {
    if context.output.is_json() {
        output::print_json(&json!({ "ran": false, "why": why }))?;
    } else {
        output::note(&format!("headstart: the command was not run: {why}"));
    }
    Ok(ExitStatus::Of(NOT_CONFINED))
}
