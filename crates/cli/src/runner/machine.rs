//! Answers the gate's questions about the machine, right before a command runs that nobody was asked about.
//!
//! [`ConditionalCommand`] defines the questions and what follows from the answers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Stdio;

use headstart_agent::native::real_path;
use headstart_git_ahead::version_in;
use headstart_tool_gate::{ConditionalCommand, Probe, Probed, Probes, ProvenCommand, UnmetNeed, Unproven};
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::system::find_program;

/// The version of the git that commands find; it is asked for only once.
#[derive(Default)]
pub(super) struct InstalledGit(OnceCell<Option<(u32, u32)>>);

impl InstalledGit {
    async fn version(&self, environment: &BTreeMap<OsString, OsString>) -> Probed {
        match self.0.get_or_init(|| ask(environment)).await {
            Some((major, minor)) => Probed::Version(*major, *minor),
            None => Probed::Unknown,
        }
    }
}

/// The command as it may run in the workspace `root`, a path without links, or why it must not run.
pub(super) async fn prove<'a>(
    command: &'a ConditionalCommand,
    root: &Path,
    git: &InstalledGit,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<ProvenCommand<'a>, UnmetNeed> {
    let mut probes = Probes::default();
    loop {
        let probe = match command.prove(&probes) {
            Ok(proven) => return Ok(proven),
            Err(Unproven::Unmet(need)) => return Err(need),
            Err(Unproven::Look(probe)) => probe,
        };
        let result = match &probe {
            Probe::GitVersion => git.version(environment).await,
            Probe::Folder(path) => folder(&root.join(path), root),
            Probe::File(path) => file(&root.join(path)),
            _ => Probed::Unknown,
        };
        probes.add(probe, result);
    }
}

fn folder(path: &Path, root: &Path) -> Probed {
    let real = match real_path(path) {
        Ok(real) => real,
        Err(error) => return missing(&error),
    };
    match real.strip_prefix(root).map(Path::to_str) {
        Ok(Some("")) => Probed::Folder(".".to_owned()),
        Ok(Some(inside)) => Probed::Folder(inside.to_owned()),
        // A name that is not text cannot be part of a question.
        Ok(None) => Probed::Unknown,
        Err(_) => Probed::Outside,
    }
}

fn file(path: &Path) -> Probed {
    match fs::metadata(path) {
        // Reading a pipe would wait for a process that writes to it.
        Ok(metadata) if !metadata.is_file() => Probed::Unknown,
        Ok(_) => fs::read(path).map_or_else(|error| missing(&error), Probed::File),
        Err(error) => missing(&error),
    }
}

fn missing(error: &io::Error) -> Probed {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Probed::Absent,
        _ => Probed::Unknown,
    }
}

async fn ask(environment: &BTreeMap<OsString, OsString>) -> Option<(u32, u32)> {
    let path = environment.get(&OsString::from("PATH"))?;
    let program = find_program("git", std::env::split_paths(path))?;
    let mut version = Command::new(program);
    version
        .arg("version")
        .current_dir("/")
        .env_clear()
        .envs(environment)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = version.output().await.ok()?;
    version_in(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(test)]
mod tests;

#[cfg(all(test, unix))]
mod attacks;
