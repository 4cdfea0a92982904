//! Declarations: what the gate knows of its own tools, and what hosts say of theirs, in the same terms.

mod about;
mod argument;
pub mod built_in;
mod make;
pub mod ours;

use std::borrow::Cow;

use serde_json::{Map, Value};

pub(crate) use self::argument::Argument;
pub use self::argument::Role;
use crate::GateError;

/// A text of a declaration. Those of built-in tools are constants.
pub(crate) type Text = Cow<'static, str>;

/// Describes a tool so that the gate can judge calls of it: which of its arguments are paths, commands or addresses,
/// what the tool does, and how its calls are described to people.
///
/// The [built-in tools](Self::all_built_in) are declared like those of a host. The gate trusts what a host says of
/// its tool: it checks the paths that a call names against the workspace and the rules, and cannot check what else
/// the tool does. So a tool that runs programs or reaches a network must be declared as one that does. A tool that
/// nobody declares asks in a turn, and is a boundary ahead of the user.
///
/// A host cannot change what is known of a built-in tool by declaring one with any of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The tool's name, as it is offered to a model.
    pub name: Text,
    /// What it does.
    pub behaviour: Behaviour,
    /// How people are told of the tool and its calls; `None` for a host's tool, because its host has those words.
    words: Option<Words>,
    /// Other names by which models call a built-in tool. A name is only listed if its arguments mean the same: a tool
    /// that edits or reads several files at once does not qualify. A host's tool has one name.
    aliases: &'static [&'static str],
    /// What configuration files of other programs call it.
    policy_names: &'static [&'static str],
    /// The arguments that the gate has to know. No other argument is taken for a path.
    arguments: Cow<'static, [Argument]>,
    /// A folder or file of the workspace that every call touches, whatever its arguments are.
    at: Option<Text>,
    /// Whether the tool is only offered if its user's own configuration names it.
    on_request: bool,
}

/// How people are told of a tool and its calls, as in `Edit a file`, `edit`, `editing`, `edited`, and the object of
/// the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// The name of the tool for people.
    pub title: &'static str,
    /// The verb behind "wants to".
    pub verb: &'static str,
    /// The verb behind "is".
    pub now: &'static str,
    /// The verb for a call that is done.
    pub then: &'static str,
    /// The object: `{name}` stands for the argument of that name, `{one|other}` for the first of several that is
    /// given.
    pub what: &'static str,
}

/// What a declared tool does to the workspace and beyond.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Behaviour {
    /// It reads the merged view, and leaves out what the rules close
    /// ([`GateContext::denies`](crate::GateContext::denies)).
    Reads,
    /// It reads as [`Reads`](Self::Reads) does, and its answer holds lines or names from at or below its paths.
    Searches,
    /// It reads as [`Reads`](Self::Reads) does, and also the repository on disk. That knows nothing of commits that
    /// work ahead made, so whoever runs such work has to check whether there are any.
    ReadsRepository,
    /// It stages changes of the files that its arguments name, and does nothing else.
    Edits,
    /// It stages changes too, but not only at the paths of its arguments. They are checked against the rules once
    /// more when the work is accepted.
    Stages,
    /// It stages changes if a call gives this argument, and only reads if that is absent or `null`.
    StagesWith(Text),
    /// It runs a shell command and answers when that has ended. Only the built-in shell runs commands in the form
    /// that the gate proved, so a call of a host's tool asks the user.
    RunsCommand,
    /// It runs a shell command that outlives its call. A turn asks before it, and work ahead stops before it.
    RunsInBackground,
    /// It starts or changes something that lives beside the user's turns (a background command, say). Work ahead
    /// knows nothing of those, so it stops before the call.
    ServesSession,
    /// It has a part of the work done in a conversation of its own. The host has each call of that conversation
    /// judged by itself.
    RunsSubTask,
    /// It opens a connection, and does nothing to files. A turn asks before it, and work ahead stops before it.
    Network,
    /// Another program does it (a tool of a server), on the real files and wherever else it reaches. A turn asks
    /// before it, and work ahead stops before it.
    #[cfg(feature = "tool-servers")]
    Anything,
    /// It is like [`Anything`](Self::Anything), but the user vouches that it only reads. It sees the real files, not
    /// what is staged, so whoever runs work ahead has to check whether anything is
    /// ([`Declaration::sees_real_files`]). Any text of a call may be a path.
    #[cfg(feature = "tool-servers")]
    ReadsRealFiles,
}

impl Declaration {
    /// The built-in tools, each once.
    pub fn all_built_in() -> &'static [&'static Self] {
        &built_in::ALL
    }

    /// The declaration of a built-in tool, by its name or one of its aliases.
    pub fn built_in(name: &str) -> Option<&'static Self> {
        built_in::ALL.into_iter().find(|tool| tool.name == name || tool.aliases.contains(&name))
    }

    /// The declaration of a tool of this project, by its name or one of its aliases: a [built-in](Self::built_in)
    /// one, or one that a host has to add to its context.
    pub fn of_ours(name: &str) -> Option<&'static Self> {
        Self::built_in(name).or_else(|| ours::ALL.into_iter().find(|tool| tool.name == name))
    }

    /// The tools of this project.
    #[cfg(feature = "tool-policies")]
    pub(crate) fn all_of_ours() -> impl Iterator<Item = &'static Self> {
        built_in::ALL.into_iter().chain(ours::ALL)
    }

    /// The tool of this project that a configuration file calls by this name.
    #[cfg(feature = "tool-policies")]
    pub(crate) fn in_files(name: &str) -> Option<&'static Self> {
        Self::of_ours(name).or_else(|| Self::all_of_ours().find(|tool| tool.policy_names.contains(&name)))
    }

    /// The declaration of `name`: that of the built-in tool if it is one, whatever a host declares.
    pub(crate) fn of<'a>(name: &str, declared: &'a [Self]) -> Option<&'a Self> {
        Self::built_in(name).or_else(|| declared.iter().find(|declaration| declaration.name == name))
    }

    /// Whether the tool is built in.
    pub fn is_built_in(&self) -> bool {
        built_in::ALL.into_iter().any(|tool| std::ptr::eq(tool, self))
    }

    /// Whether the built-in shell answers to this name.
    pub fn is_shell(name: &str) -> bool {
        Self::built_in(name).is_some_and(Self::runs_commands)
    }

    /// How people are told of the tool and its calls.
    pub const fn words(&self) -> Option<Words> {
        self.words
    }

    /// Whether the tool is only offered if its user's own configuration names it.
    pub const fn is_on_request(&self) -> bool {
        self.on_request
    }

    /// Whether the tool's command is a line for the shell.
    pub const fn runs_commands(&self) -> bool {
        matches!(self.behaviour, Behaviour::RunsCommand | Behaviour::RunsInBackground)
    }

    /// Whether the tool only looks at the merged view.
    pub const fn looks(&self) -> bool {
        matches!(self.behaviour, Behaviour::Reads | Behaviour::Searches | Behaviour::ReadsRepository)
    }

    /// Whether this call may stage a change: because of what the tool does, or because the call names a path that it
    /// changes.
    pub fn stages_in(&self, args: &Map<String, Value>) -> bool {
        match &self.behaviour {
            Behaviour::RunsInBackground | Behaviour::ServesSession | Behaviour::Network => false,
            #[cfg(feature = "tool-servers")]
            Behaviour::Anything | Behaviour::ReadsRealFiles => false,
            Behaviour::Edits | Behaviour::Stages | Behaviour::RunsCommand | Behaviour::RunsSubTask => true,
            Behaviour::StagesWith(argument) => is_given(args, argument),
            Behaviour::Reads | Behaviour::Searches | Behaviour::ReadsRepository => {
                let mut changed = self.arguments.iter().filter(|argument| argument.role == Role::Changed);
                changed.any(|argument| argument.is_given(args))
            }
        }
    }

    /// Whether another program answers, which sees the real files and nothing that is staged.
    pub const fn sees_real_files(&self) -> bool {
        #[cfg(feature = "tool-servers")]
        return matches!(self.behaviour, Behaviour::Anything | Behaviour::ReadsRealFiles);
        #[cfg(not(feature = "tool-servers"))]
        false
    }

    /// The path that a call names, as it is written, or the folder of a command; `None` if it names none or several,
    /// or what it names is not a path.
    pub fn only_path<'a>(&'a self, args: &'a Map<String, Value>) -> Option<&'a str> {
        if self.runs_commands() {
            return self.path_argument(args).ok().flatten();
        }
        match self.paths_in(args).ok()?.as_slice() {
            [(_, path)] => Some(path),
            _ => None,
        }
    }

    /// The one path that a call may give, as it is written, or the folder of a command. `Ok(None)` if there is none;
    /// a `null` counts as absent.
    ///
    /// The gate and the tool both call this, so that they cannot mean different files.
    pub fn path_argument<'a>(&self, args: &'a Map<String, Value>) -> Result<Option<&'a str>, GateError> {
        let is_place = |argument: &&Argument| argument.role.is_path() || argument.role == Role::Folder;
        self.arguments.iter().find(is_place).map_or(Ok(None), |argument| argument.text_in(args))
    }

    /// The text that a call gives for an argument of this role; if there are several such arguments, the first of the
    /// declaration.
    pub fn text_of<'a>(
        &self,
        role: Role,
        args: &'a Map<String, Value>,
    ) -> Result<Option<&'a str>, GateError> {
        let argument = self.arguments.iter().find(|argument| argument.role == role);
        argument.map_or(Ok(None), |argument| argument.text_in(args))
    }

    /// The texts that a call gives for arguments of this role; other values are left out.
    pub(crate) fn texts_of<'a>(
        &'a self,
        role: Role,
        args: &'a Map<String, Value>,
    ) -> impl Iterator<Item = &'a str> {
        let of_role = self.arguments.iter().filter(move |argument| argument.role == role);
        of_role.filter_map(|argument| argument.text_in(args).ok().flatten())
    }

    /// The name of the argument of this role that a call gives, whatever its value is.
    pub(crate) fn given(&self, role: Role, args: &Map<String, Value>) -> Option<&str> {
        let names = self.arguments.iter().filter(|argument| argument.role == role);
        names.flat_map(|argument| &*argument.names).map(|name| &**name).find(|name| args.contains_key(*name))
    }

    /// Whether a call says that what it starts goes on after it.
    pub(crate) fn outlives_call(&self, args: &Map<String, Value>) -> bool {
        let says = |name: &str| !matches!(args.get(name), None | Some(Value::Null | Value::Bool(false)));
        let mut flags = self.arguments.iter().filter(|argument| argument.role == Role::Outlives);
        flags.any(|argument| argument.names.iter().any(|name| says(name)))
    }

    /// Whether the tool answers a call that names no path with an error.
    pub(crate) fn needs_path(&self) -> bool {
        self.arguments.iter().any(|argument| argument.role.is_path() && argument.is_required)
    }

    /// Whether the argument of this name has this role.
    pub fn takes(&self, role: Role, name: &str) -> bool {
        let mut of_role = self.arguments.iter().filter(|argument| argument.role == role);
        of_role.any(|argument| argument.names.iter().any(|known| known == name))
    }

    /// The paths that a call names, as they are written.
    pub(crate) fn paths_in<'a>(
        &'a self,
        args: &'a Map<String, Value>,
    ) -> Result<Vec<(Role, &'a str)>, GateError> {
        let mut paths: Vec<_> = self.at.as_deref().map(|at| (Role::Changed, at)).into_iter().collect();
        for argument in self.arguments.iter().filter(|argument| argument.role.is_path()) {
            argument.add_texts(args, &mut paths)?;
        }
        Ok(paths)
    }
}

/// A `null` counts as absent.
fn is_given(args: &Map<String, Value>, name: &str) -> bool {
    args.get(name).is_some_and(|value| !value.is_null())
}

impl Declaration {
    /// The same declaration, with the names that configuration files of other programs use for the tool.
    const fn in_files_as(mut self, names: &'static [&'static str]) -> Self {
        self.policy_names = names;
        self
    }
}
