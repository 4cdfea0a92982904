//! The command line as clap reads it. Help texts longer than a line are in `help`.

#[cfg(feature = "acp")]
mod editors;
mod help;
mod nearest;
mod shadow;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use headstart_machine::config::{self, Flags};
use headstart_machine::model_spec::ModelSpec;
use headstart_tool_gate::ApprovalMode;

#[cfg(feature = "acp")]
pub(crate) use self::editors::{Acp, AcpProxy};
pub(crate) use self::nearest::with_nearest;
pub(crate) use self::shadow::{Shadow, ShadowDiagnostics, ShadowRun, ShadowWarm};
use crate::hosts::hooks::contract::CONTRACTS;
use crate::log::Log;

/// Predicts the next prompt of a coding agent's user, runs it while they read, hands the work over on Tab.
#[derive(Debug, Parser)]
#[command(name = "headstart", version, long_about = help::ABOUT, after_long_help = help::AFTER)]
#[command(arg_required_else_help = true, infer_long_args = false)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Default, Args)]
pub(crate) struct Global {
    /// Print JSON Lines on standard output, one object a line, and nothing else there
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath, help = help::STATE_DIR)]
    pub(crate) state_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) log: Log,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch the whole flow on a bundled sample project, without key or network
    #[command(after_help = help::DEMO)]
    Demo(Demo),
    /// Talk to a model in this project, with suggestions and speculation
    #[command(after_help = help::CHAT)]
    Chat(Chat),
    /// Serve an editor that speaks the Agent Client Protocol, on standard input and output
    #[cfg(feature = "acp")]
    #[command(after_help = help::ACP)]
    Acp(Acp),
    /// Stand between an editor and an agent that speak the Agent Client Protocol, and have the agent work ahead
    #[cfg(feature = "acp")]
    #[command(after_help = help::ACP_PROXY)]
    AcpProxy(AcpProxy),
    /// Say which models there are here and how to choose one, for an editor that starts it in a terminal
    #[cfg(feature = "acp")]
    #[command(long_flag = "setup", hide = true)]
    Setup(ModelArgs),
    /// List the conversations of this workspace, show, rename or remove one
    #[command(after_help = help::SESSIONS)]
    Sessions(Sessions),
    /// Predict the next prompt of a conversation
    #[command(after_help = help::SUGGEST)]
    Suggest(Suggest),
    /// Run a prompt over a copy-on-write view of a workspace, and keep the result
    #[command(after_help = help::SPECULATE)]
    Speculate(Speculate),
    /// List the speculations of this workspace, the newest first
    #[command(after_help = help::LIST)]
    List(Scope),
    /// Show what a speculation did: transcript, calls, changes, cost
    #[command(after_help = help::SHOW)]
    Show(IdArgs),
    /// Print what a speculation would change, as a diff or as a patch for `git apply`
    #[command(after_help = help::DIFF)]
    Diff(Diff),
    /// Apply a speculation's changes to its workspace: all, or none
    #[command(after_help = help::ACCEPT)]
    Accept(Accept),
    /// Give a speculation up and leave nothing of it
    #[command(after_help = help::ABORT)]
    Abort(IdArgs),
    /// Take back what was written: the last turn of a chat, or an accept
    #[command(after_help = help::UNDO)]
    Undo(Undo),
    /// Remove what dead processes left, and what was decided long ago
    #[command(after_help = help::SWEEP)]
    Sweep(Sweep),
    /// Show what work done ahead cost and saved, and whether it pays off now
    #[command(after_help = help::STATS)]
    Stats(Stats),
    /// See how often a suggestion would have been your next prompt, in conversations that you had already
    #[command(after_help = help::EVALUATE)]
    Evaluate(Evaluate),
    /// List what keys do in the prompt of a chat
    #[command(after_help = help::KEYS)]
    Keys,
    /// List the tools that a model is offered here, and what your configuration says of each
    #[command(after_help = help::TOOLS)]
    Tools(Tools),
    /// Serve verdicts, searches and what ran ahead as tools of the Model Context Protocol, on standard input and output
    #[cfg(feature = "mcp")]
    #[command(after_help = help::MCP)]
    Mcp(Mcp),
    /// List the tool servers that your configuration names, try one, or say yes or no to one of the project's
    #[cfg(feature = "mcp")]
    #[command(after_help = help::TOOL_SERVERS)]
    ToolServers(ToolServers),
    /// Judge tool calls: JSON Lines in, JSON Lines out, same order
    #[command(after_help = help::GATE)]
    Gate(Gate),
    /// Answer another agent's question before a command, where the command provably only reads
    #[command(after_help = help::HOOK)]
    Hook(Hook),
    /// Run a command that provably only reads, below the kernel's walls; any other does not run
    #[command(after_help = help::RUN)]
    Run(Run),
    /// Run a command in a copy-on-write view, or see whether there are views here
    #[command(subcommand, after_help = help::SHADOW)]
    Shadow(Shadow),
    /// Judge suggestion texts: JSON Lines in, JSON Lines out, same order
    #[command(after_help = help::FILTER)]
    Filter,
    /// Say whether typed words ask for the same work as a guess: JSON Lines in, JSON Lines out, same order
    #[command(after_help = help::MATCH)]
    Match,
    /// Find the places of this project that fit a text best: words, names, past commits
    #[command(after_help = help::SEARCH)]
    Search(Search),
    /// Bring the index of this project to what its files are, or say what it holds, make it anew, or clear it
    #[command(after_help = help::INDEX)]
    Index(IndexArgs),
    /// Say what works on this machine, and what to do about what does not
    #[command(after_help = help::DOCTOR)]
    Doctor(WorkspaceArg),
    /// Print a completion script for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[cfg(feature = "mcp")]
#[derive(Debug, Args)]
pub(crate) struct Mcp {
    /// The project's folder [default: the one root of the client; the current folder where it has none to tell]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
}

#[cfg(feature = "mcp")]
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ToolServers {
    #[command(subcommand)]
    pub(crate) action: Option<ToolServersAction>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[cfg(feature = "mcp")]
#[derive(Debug, Subcommand)]
pub(crate) enum ToolServersAction {
    /// List those that your file and the project's name
    List {
        #[command(flatten)]
        workspace: WorkspaceArg,
    },
    /// Start one, list its tools, and say which of them may run ahead of you
    Test(ToolServerArgs),
    /// Say yes to one that the project names: it starts in this workspace from now on
    Allow(ToolServerArgs),
    /// Say no to one that the project names
    Refuse(ToolServerArgs),
    /// Log in to one behind a url: prints the address to open in a browser, and waits until you are back
    Login {
        #[command(flatten)]
        of: ToolServerArgs,
        /// Open the address in your browser
        #[arg(long)]
        open: bool,
    },
    /// Forget a login
    Logout(ToolServerArgs),
}

#[cfg(feature = "mcp")]
#[derive(Debug, Args)]
pub(crate) struct ToolServerArgs {
    /// Its name in the configuration
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    #[command(flatten)]
    pub(crate) mode: ModeArg,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Play so many times faster: a smaller number shows more, a larger one is over sooner
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed)]
    pub(crate) speed: f64,
}

#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// What to begin with, as if it were typed
    #[arg(value_parser = prompt)]
    pub(crate) prompt: Option<String>,
    /// Go on with the conversation of this workspace that was the last
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub(crate) goes_on: bool,
    /// Go on with this conversation: its id, or the start of it; without one, choose from a list
    #[arg(short, long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    /// Lines for a screen reader: nothing is drawn again
    #[arg(long)]
    pub(crate) screen_reader: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) mode: ModeArg,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) action: Option<SessionsAction>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsAction {
    /// Show what was said
    Show(SessionArgs),
    /// Give one another title
    Rename {
        #[command(flatten)]
        of: SessionArgs,
        /// The title
        title: String,
    },
    /// Remove one for good
    Remove(SessionArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// The conversation: its id, or the start of it
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct Suggest {
    /// The conversation: a JSON array of messages, or - for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) history: PathBuf,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) mode: ModeArg,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct Speculate {
    /// What the user would type
    #[arg(value_parser = prompt)]
    pub(crate) prompt: String,
    /// The conversation so far: a JSON array of messages, or - for standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) history: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) mode: ModeArg,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct Accept {
    #[command(flatten)]
    pub(crate) of: IdArgs,
    /// Where git was used meanwhile, put the commits of the work under refs/headstart/ID, for `git merge`
    #[arg(long)]
    pub(crate) keep_commits: bool,
    /// Bring what its commands wrote and git ignores as well, up to 1,000 files and 64 MiB
    #[arg(long)]
    pub(crate) keep_ignored: bool,
    /// Take it as a conflict where files changed since its last command in a view, or since its tests
    #[arg(long)]
    pub(crate) require_fresh: bool,
    #[command(flatten)]
    pub(crate) mode: ModeArg,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) of: IdArgs,
    /// With the content of binary files, so that `git apply` makes all of it
    #[arg(long)]
    pub(crate) patch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct IdArgs {
    /// The speculation: its id, or the start of it
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// Whose speculations are meant.
#[derive(Debug, Args)]
pub(crate) struct Scope {
    /// Those of every workspace, not only of this one
    #[arg(long, conflicts_with = "path")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The speculation: its id, or the start of it [default: the turn or accept that wrote last]
    pub(crate) id: Option<String>,
    /// Look for the id in every workspace, not only in this one
    #[arg(long, conflicts_with = "path", requires = "id")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// Keep those that are younger
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    pub(crate) older_than: u32,
    /// Remove old work too that was neither accepted nor aborted
    #[arg(long)]
    pub(crate) undecided: bool,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
pub(crate) struct Evaluate {
    /// Session files, or folders that are searched for them: of Claude Code, Qwen Code, Codex, Gemini CLI and headstart
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Ask about at most so many prompts, evenly taken from all that there are
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Count the prompts and say what asking would cost, and ask nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Ask without being asked first
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Print the prompts and the suggestions, too
    #[arg(long)]
    pub(crate) show: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Gate {
    /// Judge this command alone, and not the lines of standard input
    #[arg(value_name = "COMMAND", group = "what")]
    pub(crate) command: Option<String>,
    /// Say the verdict on COMMAND in a line of words, and not as JSON
    #[arg(long, requires = "command")]
    pub(crate) brief: bool,
    /// List the programs that the gate knows, and the files that it closes or asks about
    #[arg(long, group = "what")]
    pub(crate) list: bool,
    /// Say what the gate understands of a program (`sed`, `git log`)
    #[arg(long, value_name = "PROGRAM", group = "what")]
    pub(crate) explain: Option<String>,
    /// Judge calls of work that runs ahead, where commands run in a view of the workspace
    #[arg(long)]
    pub(crate) shadow: bool,
    #[command(flatten)]
    pub(crate) mode: ModeArg,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Hook {
    /// The product whose message is on standard input
    #[arg(value_name = "HOST", value_parser = hosts())]
    pub(crate) host: String,
    /// Refuse a command that touches what a deny rule covers or what holds a secret, where the product would ask or run it
    #[arg(long)]
    pub(crate) deny: bool,
    /// Allow commands as they are, also where the product would run a confined one; aliases and functions of your shell are not seen
    #[arg(long)]
    pub(crate) text: bool,
    /// Keep the commands, too, and not only what was answered
    #[arg(long)]
    pub(crate) log_content: bool,
    /// Register the hook in the product's settings; everything else in them stays as it is
    #[arg(long, group = "instead")]
    pub(crate) install: bool,
    /// Take exactly that out again
    #[arg(long, group = "instead")]
    pub(crate) uninstall: bool,
    /// Print what --install would write, and where
    #[arg(long, group = "instead")]
    pub(crate) print: bool,
    /// Show what the answer to this command would be here, and why
    #[arg(long, value_name = "COMMAND", group = "instead")]
    pub(crate) check: Option<String>,
    /// In your own settings, as without either
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// In the settings of the project in the current folder
    #[arg(long)]
    pub(crate) project: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Run the command only if it provably reads and does nothing else, as it is in any case: for whoever reads the line
    #[arg(long)]
    pub(crate) read_only: bool,
    /// End the command, with exit code 124, if it takes longer
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
    /// One argument: a command line, as for `bash -c`. Several: a program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// What to look for: words, an identifier, a question
    #[arg(required = true, value_name = "QUERY", value_parser = prompt)]
    pub(crate) query: Vec<String>,
    /// Only at or below this path of the project
    #[arg(id = "below", long = "path", value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// At most so many places; otherwise those that fit clearly better than the rest, and 25 with --json
    #[arg(long, value_name = "COUNT")]
    pub(crate) limit: Option<std::num::NonZeroUsize>,
    /// Show the code of the places with numbered lines, as a model gets it
    #[arg(long, conflicts_with = "json")]
    pub(crate) code: bool,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

impl Search {
    /// The query as it was typed, whether it was quoted or not.
    pub(crate) fn text(&self) -> String {
        self.query.join(" ")
    }
}

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// What to do instead of bringing it to what the files are
    pub(crate) action: Option<IndexAction>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IndexAction {
    /// Show how much it holds
    Status,
    /// Make it anew
    Rebuild,
    /// Have no chat keep it until it is resumed
    Pause,
    /// Have chats keep it again
    Resume,
    /// Take everything out
    Clear,
}

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    #[arg(long, value_name = "SPEC", help = help::MODEL)]
    pub(crate) model: Option<ModelSpec>,
    #[arg(long, value_name = "SPEC", help = help::FAST_MODEL)]
    pub(crate) fast_model: Option<ModelSpec>,
    #[arg(long, value_name = "URL", help = help::BASE_URL)]
    #[arg(value_hint = ValueHint::Url, value_parser = config::parse_base_url)]
    pub(crate) base_url: Option<String>,
    /// Write what the model says, and how fast, to a file that `replay:FILE` plays; secrets are taken out
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) record: Option<PathBuf>,
    /// Play the recording of `replay:FILE` so many times faster
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    pub(crate) speed: Option<f64>,
    /// Have Gemini keep the beginning of the conversation by name for so long, at its price; 0: do not
    #[arg(long, value_name = "SECONDS")]
    pub(crate) cache_seconds: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct ModeArg {
    #[arg(long, value_name = "MODE", value_parser = mode_parser(), help = help::MODE)]
    pub(crate) mode: Option<ApprovalMode>,
}

#[derive(Debug, Args)]
pub(crate) struct WorkspaceArg {
    /// The project's folder [default: the current one]
    #[arg(long = "workspace", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) path: Option<PathBuf>,
}

impl ModelArgs {
    /// The part of the configuration that these flags and `mode` set.
    pub(crate) fn flags(&self, mode: &ModeArg) -> Flags {
        Flags {
            model: self.model.clone(),
            fast_model: self.fast_model.clone(),
            base_url: self.base_url.clone(),
            mode: mode.mode,
            speed: self.speed,
            cache_seconds: self.cache_seconds,
            screen_reader: false,
        }
    }
}

impl ModeArg {
    /// The part of the configuration that this flag sets.
    pub(crate) fn flags(&self) -> Flags {
        Flags { mode: self.mode, ..Flags::default() }
    }
}

fn mode_parser() -> impl clap::builder::TypedValueParser<Value = ApprovalMode> {
    use clap::builder::TypedValueParser as _;
    PossibleValuesParser::new(config::MODES).try_map(|name| config::parse_mode(&name))
}

fn hosts() -> PossibleValuesParser {
    PossibleValuesParser::new(CONTRACTS.iter().map(|contract| contract.name))
}

fn prompt(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it holds no word".to_owned()),
        prompt => Ok(prompt.to_owned()),
    }
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(speed) if (0.1..=1000.0).contains(&speed) => Ok(speed),
        _ => Err("use a number from 0.1 to 1000".to_owned()),
    }
}
