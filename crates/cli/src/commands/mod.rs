//! One module per command; each turns its arguments into output and an exit status.

mod abort;
mod accept;
#[cfg(feature = "acp")]
mod acp;
#[cfg(feature = "acp")]
mod acp_proxy;
mod chat;
mod choose;
mod completions;
mod demo;
mod diff;
mod doctor;
mod evaluate;
mod filter;
mod gate;
mod hook;
mod index;
mod keys;
mod list;
mod matching;
#[cfg(feature = "mcp")]
mod mcp;
mod run;
mod scope;
mod search;
mod sessions;
mod shadow;
mod show;
mod speculate;
mod start;
mod stats;
mod suggest;
mod sweep;
#[cfg(feature = "mcp")]
mod tool_servers;
mod tools;
mod undo;

use std::future::Future;
use std::io::{self, BufRead, IsTerminal, Write};

use clap::Parser;
use headstart_machine::context::Context;
use headstart_machine::error::CliError;
use headstart_machine::exit::ExitStatus;

#[cfg(feature = "acp")]
use crate::args::ModeArg;
use crate::args::{Cli, Command};

/// Runs a command to its end. Without a command, begins a chat with the configured model, or tells the user where to
/// begin.
pub(crate) fn run(command: Option<Command>, context: &Context) -> Result<ExitStatus, CliError> {
    let command = match command {
        Some(command) => command,
        None if io::stdin().is_terminal() && start::chosen(context).is_some() => {
            Cli::parse_from(["headstart", "chat"]).command
        }
        None => return block_on(start::run(context)),
    };
    match command {
        Command::Demo(args) => block_on(demo::run(args, context)),
        Command::Chat(args) => block_on(chat::run(args, context)),
        #[cfg(feature = "acp")]
        Command::Acp(args) => block_on(acp::run(args, context)),
        #[cfg(feature = "acp")]
        Command::Setup(model) => block_on(acp::setup(&model.flags(&ModeArg { mode: None }), context)),
        #[cfg(feature = "acp")]
        Command::AcpProxy(args) => block_on(acp_proxy::run(args, context)),
        Command::Sessions(args) => sessions::run(args, context),
        Command::Suggest(args) => block_on(suggest::run(args, context)),
        Command::Speculate(args) => block_on(speculate::run(args, context)),
        Command::Accept(args) => block_on(accept::run(args, context)),
        Command::List(args) => list::run(&args, context),
        Command::Show(args) => show::run(&args, context),
        Command::Diff(args) => diff::run(&args, context),
        Command::Abort(args) => abort::run(&args, context),
        Command::Undo(args) => undo::run(args, context),
        Command::Sweep(args) => sweep::run(&args, context),
        Command::Stats(args) => stats::run(&args, context),
        Command::Evaluate(args) => block_on(evaluate::run(args, context)),
        Command::Keys => keys::run(context),
        Command::Tools(args) => tools::run(&args, context),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => block_on(mcp::run(args, context)),
        #[cfg(feature = "mcp")]
        Command::ToolServers(args) => block_on(tool_servers::run(args, context)),
        Command::Gate(args) => gate::run(&args, context),
        Command::Hook(args) => hook::run(&args, context),
        Command::Run(args) => block_on(run::run(args, context)),
        Command::Shadow(args) => block_on(shadow::run(args, context)),
        Command::Filter => filter::run(),
        Command::Match => matching::run(),
        Command::Doctor(args) => block_on(doctor::run(args, context)),
        Command::Search(args) => block_on(search::run(args, context)),
        Command::Index(args) => block_on(index::run(args, context)),
        Command::Completions { shell } => completions::run(shell),
    }
}

/// Runs a future. Only commands that wait for a model or a person need this runtime.
fn block_on(command: impl Future<Output = Result<ExitStatus, CliError>>) -> Result<ExitStatus, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::Unavailable(format!("cannot start the asynchronous runtime: {error}")))?;
    let ended = runtime.block_on(command);
    // A thread that still waits for a key press must not keep the process running.
    runtime.shutdown_background();
    ended
}

/// The answer of the person at the terminal to a question that ends in `[y/N] `; `None` if there is no terminal.
fn says_yes(question: &str, context: &Context) -> Result<Option<bool>, CliError> {
    let attended = io::stdin().is_terminal() && io::stderr().is_terminal() && !context.output.is_json();
    if !attended {
        return Ok(None);
    }
    let mut stderr = io::stderr().lock();
    stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush()).map_err(CliError::Output)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(CliError::Input)?;
    Ok(Some(matches!(answer.trim(), "y" | "Y" | "yes")))
}
