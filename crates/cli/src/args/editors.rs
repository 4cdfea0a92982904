//! Commands that an editor starts.

use clap::Args;

use super::{ModeArg, ModelArgs};
use crate::hosts::proxy::Suggestions;

#[derive(Debug, Args)]
pub(crate) struct Acp {
    /// Say which models there are here and how to choose one, in a terminal; it fails where none is chosen
    #[arg(long)]
    pub(crate) setup: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) mode: ModeArg,
}

#[derive(Debug, Args)]
pub(crate) struct AcpProxy {
    /// Who suggests the next prompt
    #[arg(long, value_enum, default_value_t, value_name = "WHO")]
    pub(crate) suggestions: Suggestions,
    /// The agent and its arguments, as the editor would start it
    #[arg(last = true, required = true, value_name = "AGENT")]
    pub(crate) command: Vec<String>,
}
