use headstart_workspace_path::WorkspacePath;
use serde_json::{Map, Value};

use crate::{BuiltinTool, GateContext, GateError};

/// What a host says of a tool that is its own, so that the gate can judge calls of it: which of its arguments are paths, and whether it
/// does anything but read.
///
/// It is the host's word. The gate holds the paths that a call names against the workspace and the rules; what else the tool does is not
/// looked at, so nothing that runs programs or reaches a network may be declared (but as such, with the feature `tool-servers`). Such a tool stays
/// undeclared: in a turn it asks, and ahead of the user it is a boundary. No declaration changes what is known of a built-in tool, under none of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The tool's name, as a model calls it.
    pub name: String,
    /// What it does.
    pub does: Does,
    /// The arguments that name a path, or a list of paths. Others are never taken for a path.
    pub paths: Vec<String>,
    /// A folder or file of the workspace that every call is about, whatever its arguments are.
    pub at: Option<String>,
}

/// What a declared tool does, to the workspace and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Does {
    /// It reads the merged view, and leaves out what the rules close ([`GateContext::denies`](crate::GateContext::denies)).
    Reads,
    /// The same, and it reads the repository as it is on disk, which knows nothing of commits that work ahead made: whoever runs such work has to look
    /// whether there are any.
    ReadsRepository,
    /// It also stages changes, at the paths of its arguments or elsewhere in the workspace. They are held against the rules once more
    /// when the work is taken.
    Stages,
    /// It stages where a call gives this argument, and only reads where that is absent or `null`.
    StagesWith(String),
    /// It runs a shell command that outlives its call. A turn asks before it, and work ahead stops before it.
    RunsInBackground,
    /// It is about what runs beside the user's own turns, which runs in them, and of which work ahead knows nothing: that stops before it.
    ServesSession,
    /// It has a part of the work done in a conversation of its own: whoever runs it has each call that is made there judged by itself.
    RunsSubTask,
    /// It opens a connection, and does nothing to files. A turn asks before it, and work ahead stops before it.
    #[cfg(feature = "tool-servers")]
    Network,
    /// Another program does it, on the real files and wherever else that reaches: a tool of a server. A turn asks before it, and work
    /// ahead stops before it.
    #[cfg(feature = "tool-servers")]
    Anything,
    /// The same, but the user vouches that it only reads. It sees the real files, not what is staged: whoever runs work ahead has to look whether
    /// anything is ([`Declaration::sees_real_files`]). Any text of a call may be a path here.
    #[cfg(feature = "tool-servers")]
    ReadsRealFiles,
}

impl Declaration {
    /// A tool that only reads.
    pub fn reads(name: &str, paths: &[&str]) -> Self {
        Self::new(name, Does::Reads, paths)
    }

    /// A tool that reads, and the repository on disk as well.
    pub fn reads_repository(name: &str, paths: &[&str]) -> Self {
        Self::new(name, Does::ReadsRepository, paths)
    }

    /// A tool that runs a shell command, given as `command` and `directory`, and does not wait for its end.
    pub fn runs_in_background(name: &str) -> Self {
        Self::new(name, Does::RunsInBackground, &[])
    }

    /// A tool that is about what runs beside the user's own turns.
    pub fn serves_session(name: &str) -> Self {
        Self::new(name, Does::ServesSession, &[])
    }

    /// A tool that has a part of the work done, whose calls are judged one by one.
    pub fn runs_sub_task(name: &str) -> Self {
        Self::new(name, Does::RunsSubTask, &[])
    }

    /// A tool that stages changes in this folder of the workspace.
    pub fn stages_at(name: &str, folder: &str) -> Self {
        Self { at: Some(folder.to_owned()), ..Self::new(name, Does::Stages, &[]) }
    }

    /// A tool that stages changes.
    pub fn stages(name: &str, paths: &[&str]) -> Self {
        Self::new(name, Does::Stages, paths)
    }

    /// A tool that stages changes where a call gives `argument`.
    pub fn stages_with(name: &str, argument: &str, paths: &[&str]) -> Self {
        Self::new(name, Does::StagesWith(argument.to_owned()), paths)
    }

    /// A tool that opens a connection.
    #[cfg(feature = "tool-servers")]
    pub fn reaches_network(name: &str) -> Self {
        Self::new(name, Does::Network, &[])
    }

    /// A tool of a server: `trusted` where its user vouches that it only reads.
    #[cfg(feature = "tool-servers")]
    pub fn of_server(name: &str, trusted: bool) -> Self {
        Self::new(name, if trusted { Does::ReadsRealFiles } else { Does::Anything }, &[])
    }

    fn new(name: &str, does: Does, paths: &[&str]) -> Self {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        Self { name: name.to_owned(), does, paths, at: None }
    }

    /// The declaration of `name` among these. A built-in tool has none, whatever a host declares.
    pub(crate) fn of<'a>(name: &str, declared: &'a [Self]) -> Option<&'a Self> {
        let own = declared.iter().find(|declaration| declaration.name == name);
        own.filter(|_| BuiltinTool::from_name(name).is_none())
    }

    /// Whether this call may stage something.
    pub fn stages_in(&self, args: &Map<String, Value>) -> bool {
        match &self.does {
            Does::Reads | Does::ReadsRepository | Does::RunsInBackground | Does::ServesSession => false,
            #[cfg(feature = "tool-servers")]
            Does::Anything | Does::ReadsRealFiles | Does::Network => false,
            Does::Stages | Does::RunsSubTask => true,
            Does::StagesWith(argument) => args.get(argument).is_some_and(|value| !value.is_null()),
        }
    }

    /// Whether another program answers, which sees the real files and nothing of what is staged.
    pub const fn sees_real_files(&self) -> bool {
        #[cfg(feature = "tool-servers")]
        return matches!(self.does, Does::Anything | Does::ReadsRealFiles);
        #[cfg(not(feature = "tool-servers"))]
        false
    }

    /// Whether a call says that it is about this path, or about a folder that holds it.
    pub fn is_about(&self, args: &Map<String, Value>, path: &WorkspacePath, context: &GateContext) -> bool {
        let named = self.paths_in(args).unwrap_or_default();
        let mut named = named.iter().filter_map(|named| context.resolve(named).ok());
        named.any(|named| !named.is_root() && path.starts_with(&named))
    }

    /// The path that a call names, as it is written; `None` where it names none, or several.
    pub fn only_path<'a>(&'a self, args: &'a Map<String, Value>) -> Option<&'a str> {
        match self.paths_in(args).ok()?.as_slice() {
            [path] => Some(path),
            _ => None,
        }
    }

    /// The paths that a call names, as they are written.
    pub(crate) fn paths_in<'a>(&'a self, args: &'a Map<String, Value>) -> Result<Vec<&'a str>, GateError> {
        let mut paths: Vec<_> = self.at.as_deref().into_iter().collect();
        for key in &self.paths {
            match args.get(key) {
                None | Some(Value::Null) => {}
                Some(Value::String(path)) => paths.push(path.as_str()),
                Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
                    paths.extend(list.iter().filter_map(Value::as_str));
                }
                Some(_) => return Err(GateError::InvalidPath { name: key.clone() }),
            }
        }
        Ok(paths)
    }
}
