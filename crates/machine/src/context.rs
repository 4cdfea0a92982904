use std::path::{Path, PathBuf};

use crate::config::{Config, Flags};
use crate::environment::Environment;
use crate::error::CliError;
use crate::output::Output;
use crate::project_models;
use crate::store::Store;

/// What every command is given: its output, its environment, and the state folder.
#[derive(Debug, Clone)]
pub struct Context {
    pub output: Output,
    pub environment: Environment,
    pub state_dir: Option<PathBuf>,
}

impl Context {
    /// The store of speculations on disk.
    pub fn store(&self) -> Result<Store, CliError> {
        Store::locate(self.state_dir.as_deref(), &self.environment)
    }

    /// The configuration for a workspace, with the flags applied. A project's model is in it if its user agreed to it.
    pub fn config(&self, flags: &Flags, workspace: &Path) -> Result<Config, CliError> {
        let config = Config::load(&self.environment, flags, workspace)?;
        Ok(project_models::settled(config, self, workspace))
    }

    /// As [`config`](Self::config), where somebody sits at a terminal and can be asked about the project's model.
    pub fn config_asking(&self, flags: &Flags, workspace: &Path) -> Result<Config, CliError> {
        let config = Config::load(&self.environment, flags, workspace)?;
        project_models::ask(&config, self, workspace)?;
        Ok(project_models::settled(config, self, workspace))
    }
}
