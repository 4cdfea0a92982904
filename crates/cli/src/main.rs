//! The `headstart` binary: the command line, configuration and terminal around the headstart crates.
//!
//! `main` reads the command line, runs one command and turns its end into an exit code; everything else is in the
//! modules. Deliberately absent here: any knowledge of what a command does.
//!
//! # Limitations
//!
//! Unix only: the state folder relies on permission bits and advisory file locks.

mod accounts;
mod args;
mod chat;
mod checks;
mod clock;
mod commands;
mod config;
mod context;
mod conversation;
mod demo;
mod environment;
mod error;
mod evaluate;
mod exit;
mod file_lock;
mod habits;
mod history;
mod host;
mod hosts;
mod index;
mod intel;
mod ledger;
mod lines;
mod log;
mod machine;
mod mentions;
mod model_spec;
mod models;
mod offered;
mod output;
mod parts;
mod remote;
mod repository;
mod rules;
mod runner;
mod secrets;
mod seen;
mod serve;
mod sessions;
mod setup;
mod shell_words;
mod signals;
mod store;
mod terminal;
#[cfg_attr(not(feature = "mcp"), path = "tool_servers/absent.rs")]
mod tool_servers;
mod views;
#[cfg_attr(not(feature = "mcp"), path = "web/absent.rs")]
mod web;
mod workspace;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Cli, Global};
use crate::context::Context;
use crate::environment::Environment;
use crate::exit::ExitStatus;
use crate::hosts::hooks::contract::contract;
use crate::output::Output;

fn main() -> ExitCode {
    // Before anything starts a thread, which would keep the process out of a namespace of its own.
    if let Some(code) = headstart_shadow::entry(std::env::args_os()) {
        return code;
    }
    if let Some(code) = headstart_shadow::confined_entry(std::env::args_os(), runner::holds_a_secret) {
        return code;
    }
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == runner::TIED) {
        return runner::tie(arguments);
    }
    let environment = Environment::of_process();
    let (command, global) = match Cli::try_parse() {
        Ok(cli) => (Some(cli.command), cli.global),
        Err(error) if is_start(&error) => (None, Global::default()),
        Err(error) => return usage(&error).into(),
    };
    let output = Output::new(global.json, &environment);
    let logged = global.log.begin(|| secrets::scrubber(&environment));
    let context = Context { output, environment, state_dir: global.state_dir };
    let status = match logged.and_then(|()| commands::run(command, &context)) {
        Ok(status) => status,
        Err(error) if error.is_broken_pipe() => ExitStatus::Done,
        Err(error) => {
            output.error(&error);
            if let Some(signal) = error.signal() {
                signal.end_process();
            }
            error.exit_status()
        }
    };
    tracing::info!(?status, "headstart ends");
    status.into()
}

/// Whether somebody typed `headstart` alone in a terminal.
fn is_start(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && std::io::stdout().is_terminal()
}

/// Whether this is the hook of a product that is known. Such a product takes 2 for a refusal of the call, whatever is wrong with the
/// hook's own arguments.
fn is_hook() -> bool {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    arguments.windows(2).any(|two| two[0] == "hook" && two[1].to_str().and_then(contract).is_some())
}

/// Help and version are no errors; all else is.
fn usage(error: &clap::Error) -> ExitStatus {
    // Whoever reads the help may have gone: nothing to do about it.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitStatus::Done;
    }
    if is_hook() {
        return ExitStatus::Failed;
    }
    if std::env::args_os().any(|argument| argument == "--json") {
        let text = error.to_string();
        let first: Vec<_> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
        let message = first.join(" ");
        output::print_error_line(message.strip_prefix("error: ").unwrap_or(&message));
    }
    ExitStatus::Usage
}
