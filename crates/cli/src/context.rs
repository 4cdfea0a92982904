use std::path::{Path, PathBuf};

use crate::config::{Config, Flags};
use crate::environment::Environment;
use crate::error::CliError;
use crate::output::Output;
use crate::store::Store;

/// What every command is given: its output, its environment, and the state folder.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) output: Output,
    pub(crate) environment: Environment,
    pub(crate) state_dir: Option<PathBuf>,
}

impl Context {
    /// The store of speculations on disk.
    pub(crate) fn store(&self) -> Result<Store, CliError> {
        Store::locate(self.state_dir.as_deref(), &self.environment)
    }

    /// The configuration for a workspace, with the flags applied.
    pub(crate) fn config(&self, flags: &Flags, workspace: &Path) -> Result<Config, CliError> {
        Config::load(&self.environment, flags, workspace)
    }
}
