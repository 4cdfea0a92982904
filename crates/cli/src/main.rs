//! The `headstart` binary: the command line, configuration and terminal around the headstart crates.
//!
//! `main` reads the command line, runs one command and turns its end into an exit code; everything else is in the
//! modules. Deliberately absent here: any knowledge of what a command does.
//!
//! # Limitations
//!
//! Commands run ahead on Linux only, because only there they can be confined. On Windows no command runs without its
//! user's yes, what is beyond the terminal and the files of a user is closed (hooks that allow, views, copies of other
//! machines' workspaces), and the state folder has to be in the user's profile, which others cannot write.
//!
//! # Decisions that are not obvious
//!
//! - **An editor's session is a task that shows a conversation** (`src/hosts/acp`). It owns one conversation, handles
//!   the conversation's updates and the client's requests one after the other, and answers a prompt when the
//!   conversation is at rest, so that an answer never comes before the updates that belong to it. All decisions (what a
//!   prompt accepts, which calls are asked about, what is suggested) are made in `agent`. Only the types of the
//!   protocol's crates are used, because their connection does not limit the length of a line, and sends back what it
//!   could not read. Messages of one line each need no more than a hundred lines of code.
//! - **Another agent works ahead as itself** (`src/hosts/proxy`). A client of an agent cannot make the agent's calls
//!   run over an overlay, because agents read and write the disk themselves. So a second process of the agent runs in a
//!   view at the project's own path and works in a fork of the conversation, which the first process then resumes. The
//!   second process asks before it acts, and the gate answers its questions; a question that the gate does not answer
//!   stays open, so nothing false enters the conversation. An agent that runs commands in a sandbox of its own without
//!   asking finds a program of headstart's in the place of that sandbox (`stand_in`), which runs nothing before the
//!   gate has agreed. The fork is adopted before files are committed. The decisions are made by a state machine without
//!   IO (`relay`, `ahead`, `accept`, `permission`): lines come in, and effects come out. A line that needs no change is
//!   passed on unchanged, and ids of sessions are replaced in place.
//! - **A tool of headstart's server is a command of headstart's** (`src/hosts/mcp`). It runs as a separate process,
//!   which leads its own process group. A tool and its command can therefore not differ, standard output belongs to the
//!   protocol whatever a command prints, and a cancelled call ends together with everything that it started. Lines are
//!   read as for editors, because the protocol's library leaves one unanswered that is too long or is not JSON.
//! - **A hook controls neither the shell nor the environment** (`src/hosts/hooks`). A verdict assumes a clean
//!   environment. A product that can run another command in place of the one it sent is therefore told to run
//!   `headstart run --read-only`, which judges the command again and confines it. For other products a text is only
//!   allowed if nothing visible (variables, `PATH`, the shell) changes its meaning. The differences between products
//!   are rows of one table.
//! - **Session files of other products are first read into events** (`src/evaluate`). The differences between products
//!   (lines, branches, what a person typed) stay in `formats`. What a turn is, what was undone and what the model had
//!   been told is decided once, in `recorded_conversation.rs`. A file is read twice, once for counting and once for
//!   the questions, so that a folder with years of sessions needs no memory except for the prompts that are asked about.
//! - **The copy of a workspace is its own store of contents** (`src/serve/copy.rs`). A content that a new state needs,
//!   and that another path of the copy has, is taken from there. A log says what the copy contains. Edits are noted
//!   before they are made, so that after a process died in the middle the files themselves are read. A view over an
//!   older state of the copy is ended before its next command.
//! - **The bundled recording chooses its answers by the conversation** (`src/demo/story.rs`) and not by their order. In
//!   a chat work ahead is given up and requested again, and a user who tries the recording types prompts that were not
//!   recorded.

mod args;
mod chat;
mod commands;
mod demo;
mod evaluate;
mod hosts;
mod log;
#[cfg_attr(windows, path = "serve/unsupported.rs")]
mod serve;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser};
use headstart_machine::context::Context;
use headstart_machine::environment::Environment;
use headstart_machine::exit::ExitStatus;
use headstart_machine::output::Output;

use crate::args::{Cli, Global, with_nearest};
use crate::hosts::hooks::contract::contract;

fn main() -> ExitCode {
    // This must come before a thread is started, because a process with several threads cannot enter a namespace of its
    // own.
    if let Some(code) = headstart_shadow::entry(std::env::args_os()) {
        return code;
    }
    if let Some(code) =
        headstart_shadow::confined_entry(std::env::args_os(), headstart_machine::runner::closed_by)
    {
        return code;
    }
    #[cfg(unix)]
    let mut arguments = std::env::args_os().skip(1);
    #[cfg(unix)]
    if arguments.next().is_some_and(|first| first == headstart_machine::system::WATCHDOG) {
        return headstart_machine::system::run_watchdog(arguments);
    }
    let environment = Environment::of_process();
    let (command, global) = match Cli::try_parse() {
        Ok(cli) => (Some(cli.command), cli.global),
        Err(error) if is_start(&error) => (None, Global::default()),
        Err(error) => {
            let words: Vec<_> =
                std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
            return usage(&with_nearest(error, &Cli::command(), &words)).into();
        }
    };
    let output = Output::new(global.json, &environment);
    let logged = global.log.begin(|| headstart_machine::secrets::scrubber(&environment));
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

/// Whether the user typed `headstart` alone in a terminal.
fn is_start(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && std::io::stdout().is_terminal()
}

/// Whether this is the hook of a known product. Such a product reads exit code 2 as a refusal of the call, so errors in
/// the hook's own arguments must have another code.
fn is_hook() -> bool {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    arguments.windows(2).any(|two| two[0] == "hook" && two[1].to_str().and_then(contract).is_some())
}

/// Help and version are no errors; everything else is.
fn usage(error: &clap::Error) -> ExitStatus {
    // If the reader of the help has gone, nothing can be done about it.
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
        headstart_machine::output::print_error_line(message.strip_prefix("error: ").unwrap_or(&message));
    }
    ExitStatus::Usage
}
