//! Constructors with which a host declares a tool of its own.

use std::borrow::Cow;

use super::{Argument, Behaviour, Declaration, Role};

impl Declaration {
    /// A tool that only reads.
    pub fn reads(name: &str, paths: &[&str]) -> Self {
        Self::new(name, Behaviour::Reads).with_paths(Role::Read, paths)
    }

    /// A tool that searches, or lists.
    pub fn searches(name: &str, paths: &[&str]) -> Self {
        Self::new(name, Behaviour::Searches).with_paths(Role::Read, paths)
    }

    /// A tool that reads, also the repository on disk.
    pub fn reads_repository(name: &str, paths: &[&str]) -> Self {
        Self::new(name, Behaviour::ReadsRepository).with_paths(Role::Read, paths)
    }

    /// A tool that edits the files that a call names, and does nothing else.
    pub fn edits(name: &str, paths: &[&str]) -> Self {
        Self::new(name, Behaviour::Edits).with_paths(Role::Changed, paths)
    }

    /// A tool that stages changes, possibly at other paths than those that a call names.
    pub fn stages(name: &str, paths: &[&str]) -> Self {
        Self::new(name, Behaviour::Stages).with_paths(Role::Changed, paths)
    }

    /// A tool that stages changes in this folder of the workspace.
    pub fn stages_at(name: &str, folder: &str) -> Self {
        Self { at: Some(folder.to_owned().into()), ..Self::new(name, Behaviour::Stages) }
    }

    /// A tool that stages changes if a call gives `argument`.
    pub fn stages_with(name: &str, argument: &str, paths: &[&str]) -> Self {
        Self::new(name, Behaviour::StagesWith(argument.to_owned().into())).with_paths(Role::Changed, paths)
    }

    /// A tool that runs a shell command, given as `command` and `directory`, and answers before that has ended.
    pub fn runs_in_background(name: &str) -> Self {
        let command = Self::new(name, Behaviour::RunsInBackground).with(Role::Command, "command");
        command.with(Role::Folder, "directory")
    }

    /// A tool that starts or changes something that lives beside the user's turns.
    pub fn serves_session(name: &str) -> Self {
        Self::new(name, Behaviour::ServesSession)
    }

    /// A tool of a server; `trusted` if its user vouches that it only reads.
    #[cfg(feature = "tool-servers")]
    pub fn of_server(name: &str, trusted: bool) -> Self {
        Self::new(name, if trusted { Behaviour::ReadsRealFiles } else { Behaviour::Anything })
    }

    /// A tool with this behaviour, without arguments that the gate has to know.
    pub fn new(name: &str, behaviour: Behaviour) -> Self {
        Self {
            name: name.to_owned().into(),
            behaviour,
            words: None,
            aliases: &[],
            policy_names: &[],
            arguments: Cow::Borrowed(&[]),
            at: None,
            on_request: false,
        }
    }

    /// Adds an argument that the gate has to know. A path may be given as a list of paths.
    #[must_use]
    pub fn with(mut self, role: Role, argument: &str) -> Self {
        let names = Cow::Owned(vec![argument.to_owned().into()]);
        let argument = Argument { role, names, may_be_list: role.is_path(), is_required: false };
        self.arguments.to_mut().push(argument);
        self
    }

    fn with_paths(self, role: Role, paths: &[&str]) -> Self {
        paths.iter().fold(self, |declared, path| declared.with(role, path))
    }
}
