//! The commands about views.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{WorkspaceArg, help};

#[derive(Debug, Subcommand)]
pub(crate) enum Shadow {
    /// Run a command in a view, print its output and then what it changed there; nothing is written to the workspace
    #[command(after_help = help::SHADOW_RUN)]
    Run(ShadowRun),
    /// List the views that are held, of all processes, and the build output that is kept for the next ones
    List,
    /// Build ahead what all views of the workspace begin with: over the files as they are, with nothing of the workspace written
    #[command(after_help = help::SHADOW_WARM)]
    Warm(ShadowWarm),
    /// Remove the build output that is kept for the next views; what a view lies over stays until it has ended
    Clean {
        /// That of every workspace
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        workspace: WorkspaceArg,
    },
    /// Say what language servers find in files, with a speculation's work in them
    #[command(after_help = help::SHADOW_DIAGNOSTICS)]
    Diagnostics(ShadowDiagnostics),
    /// Give views to another machine, on standard input and output: what `[shadow] remote` of its user starts here
    #[command(after_help = help::SHADOW_SERVE)]
    Serve {
        /// Over the files of this folder themselves, for an editor on this machine
        #[arg(long, value_name = "DIR")]
        here: Option<PathBuf>,
    },
    /// Say what keeps views apart here, and try it: a write, a way out, an end by force; and which language servers there are
    Check {
        #[command(flatten)]
        workspace: WorkspaceArg,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ShadowRun {
    /// Over what this speculation staged: its id, or the start of it
    #[arg(long, value_name = "ID")]
    pub(crate) speculation: Option<String>,
    /// Apply what it changed: all, or none
    #[arg(long)]
    pub(crate) apply: bool,
    /// In a view of this machine, also where `[shadow] remote` names another
    #[arg(long)]
    pub(crate) here: bool,
    /// With the network of this machine: asked about first, unless `[shadow] network` of your own file allows it
    #[arg(long)]
    pub(crate) network: bool,
    /// Count this path among the changes although git ignores it
    #[arg(long, value_name = "PATH")]
    pub(crate) keep_ignored: Vec<String>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
    /// One argument with blanks: a command line, as for `bash -c`. Otherwise a program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ShadowWarm {
    /// On this machine, also where `[shadow] remote` names another
    #[arg(long)]
    pub(crate) here: bool,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
    /// The program and its arguments; without them the lines of `[shadow] warm`
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ShadowDiagnostics {
    /// With what this speculation staged: its id, or the start of it
    #[arg(long, value_name = "ID")]
    pub(crate) speculation: Option<String>,
    #[command(flatten)]
    pub(crate) workspace: WorkspaceArg,
    /// The files
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
}
