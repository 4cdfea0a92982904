//! The `headstart` binary: the command line, configuration and terminal around the headstart crates.
//!
//! `main` reads the command line, runs one command and turns its end into an exit code; everything else is in the
//! modules. Deliberately absent here: any knowledge of what a command does.
//!
//! # Limitations
//!
//! Unix only: the state folder relies on permission bits and advisory file locks.
//!
//! # Decisions that are not obvious
//!
//! - **Models move what words found, and nobody waits for them** (`code-index/src/search/fuse.rs`, `src/index/{models,remote,vectors}.rs`). The
//!   order by words and that by vectors are joined by rank; a query that names a definition is asked of no model. Who serves is the user's own
//!   file's word alone. English words for a question in another language (`toolbox/src/codebase/english.rs`) come from the model of background
//!   work, by a client of their own, so that no recording has them. A call of work ahead says so (`ToolContext::attended`), and then only what
//!   stays on this machine is asked: so the gate need not stop a search, and it is never the network's.
//! - **The index is kept by a thread of the binary** (`src/index/upkeep`), which a query never waits for; it alone writes, and everybody else
//!   reads snapshots. Who commits tells it the paths before the commit counts as done.
//! - **Views are the binary's** (`src/views.rs`): `crates/shadow` behind `CommandRunner::run_in_view`. Each command blocks a thread of the
//!   runtime, and a dropped future ends the view through its `Ender`. Before each command the paths that rules close are taken out of the view,
//!   found by a walk that does not stop at what git ignores, for that is where secrets are. A folder whose change time is as it was at the last
//!   look is not listed again (`src/views/closed.rs`), so a further command costs a look at each folder and not at each name.
//! - **An editor's session is a task that draws** (`src/hosts/acp`). It owns one conversation, reads its updates and the client's requests one
//!   after the other, and answers a prompt when the conversation is at rest, so an answer never overtakes what it is about. Whatever is decided
//!   (what a prompt takes, what asks, what is suggested) is decided in `agent`. Of the protocol's crates only the types are used: its
//!   connection has no limit for a line and sends what it could not read back, and messages of one line each need no more than a hundred lines.
//! - **Another agent works ahead as itself** (`src/hosts/proxy`). Who talks to an agent cannot have its calls run over an overlay, for agents
//!   read and write the disk themselves. So a second process of it runs in a view at the project's own path, works in a fork of the
//!   conversation, and the first process resumes that fork. It asks before it acts, and its questions are what the gate answers; one that the
//!   gate does not answer is left unanswered, so nothing false enters the conversation. One that runs commands in a sandbox of its own without asking finds a program
//!   of ours in that sandbox's place (`stand_in`), which runs nothing before the gate's yes. The fork is adopted before files are committed. What is
//!   decided is a machine without IO (`relay`, `ahead`, `taking`, `permission`): lines in, effects out. A line that needs no change is passed
//!   on as it came, and names of sessions are changed in place.
//! - **A tool of our server is a command of ours** (`src/hosts/mcp`). It runs as a process of its own, the first of its group: tool and command
//!   cannot drift apart, standard output stays the protocol's whatever a command prints, and a cancelled call ends with all that it began.
//! - **A hook owns neither the shell nor the environment** (`src/hosts/hooks`). A verdict is about a clean one, so a product that runs another
//!   command in a command's place is told to run `headstart run --read-only`, which judges again and confines; for the others a text is allowed
//!   only where nothing that can be seen (variables, `PATH`, the shell) makes something else of it. What differs between products is a row of
//!   one table.
//! - **Session files of others are read into events first** (`src/evaluate`). What differs between products (lines, branches, what a person
//!   typed) ends in `formats`; what a turn is, what was taken back and what the model had been told is decided once, in `recorded.rs`. A file
//!   is read twice, to be counted and to be asked about, so that a folder of years needs no memory but for the prompts that are asked about.
//! - **The copy of a workspace is its own store of contents** (`src/serve/copy.rs`). What a new state needs and another path of the copy has is
//!   taken from there. A log tells what the copy holds; edits are noted before they are made, so that after a death in the middle the files
//!   themselves are looked at. A view that lay over another state of it is ended before its next command.
//! - **What one view built is nobody else's** (`src/views/rooms.rs`, `warm.rs`). A tool that compares times takes what was built of other
//!   contents for current: a wrong test result. Only what was built of the workspace as it is on disk, in a view with nothing staged, lies
//!   below all views, and each view gives what changed on disk since a later time.
//! - **A command that leaves git alone pays nothing for it** (`src/views/repository.rs`). What the repository was when a view started is read
//!   only after a command wrote to git's folder, and counts only if the kernel's own times say that nothing in it changed since; else the
//!   command is run once more. Once work has commits, each later command of it sees them, so also one that only reads goes to the view. Rules
//!   count for the paths of commits (`GitChange::paths`) as for files: a view does not show files with secrets, so `git add -A` there would
//!   remove them.
//! - **What runs in the background hangs on a pipe** (`src/runner/background.rs`). This binary starts itself to wait for the command, in the
//!   command's process group, and kills that group when the pipe ends: so it is gone however headstart ended, which no handler of a signal and
//!   no destructor could promise.
//! - **A language server's view follows the disk** (`src/intel/place.rs`). An overlay does not say what it shows of a file that was replaced
//!   below it, so before each question the workspace is compared with the last look, and what changed is written into the view. An accept of
//!   what the server has seen as staged is nothing new to it (`code-intel/src/servers/server.rs`): the next edit of a turn does not wait for it
//!   to look at the same text again.
//! - **The bundled recording answers by the conversation** (`src/demo/story.rs`), not in its order: in a chat work ahead is given up and asked
//!   for again, and whoever plays with it types prompts that were not recorded.

mod accounts;
mod args;
mod chat;
mod checks;
mod clock;
mod commands;
mod config;
mod context;
mod conversation;
mod declarations;
mod demo;
mod environment;
mod error;
mod evaluate;
mod exit;
mod file_lock;
mod git;
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
mod process_group;
mod program;
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
mod tool_rows;
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
