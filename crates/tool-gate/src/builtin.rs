use serde_json::{Map, Value};

use crate::GateError;

/// The tools whose meaning the gate knows, whatever a model calls them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BuiltinTool {
    /// Reads a file.
    ReadFile,
    /// Searches the content of files.
    Grep,
    /// Finds files by name.
    Glob,
    /// Lists a folder.
    Ls,
    /// Replaces text in a file.
    Edit,
    /// Writes a whole file.
    WriteFile,
    /// Runs a shell command.
    Shell,
}

/// The keys that name the path of a call. A call with several of them is refused: two readers of the call could
/// each take another one.
const PATH_KEYS: [&str; 6] = ["file_path", "path", "filePath", "absolute_path", "notebook_path", "dir_path"];

/// The same for the folder in which a shell command runs.
const DIRECTORY_KEYS: [&str; 4] = ["directory", "dir_path", "cwd", "workdir"];

impl BuiltinTool {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::ReadFile, Self::Grep, Self::Glob, Self::Ls, Self::Edit, Self::WriteFile, Self::Shell];

    /// The tool that `name` stands for: its own name or one of its aliases.
    ///
    /// A name is an alias only where its arguments mean the same: a tool that edits several places at once or
    /// reads several files is not one.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "read_file" | "read_file_range" | "Read" | "ReadFile" => Self::ReadFile,
            "grep" | "grep_search" | "search_file_content" | "Grep" => Self::Grep,
            "glob" | "Glob" => Self::Glob,
            "ls" | "list_directory" | "LS" | "ListFiles" => Self::Ls,
            "edit" | "replace" | "Edit" => Self::Edit,
            "write_file" | "Write" | "WriteFile" => Self::WriteFile,
            "shell" | "run_shell_command" | "Bash" | "Shell" => Self::Shell,
            _ => return None,
        })
    }

    /// The name under which the tool is offered to a model.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read_file",
            Self::Grep => "grep",
            Self::Glob => "glob",
            Self::Ls => "ls",
            Self::Edit => "edit",
            Self::WriteFile => "write_file",
            Self::Shell => "shell",
        }
    }

    /// The argument that holds the path this call reads or writes (for the shell: the folder it runs in).
    ///
    /// The gate and the tool both ask here, so that they cannot mean different files. `Ok(None)` where no key is
    /// there; a search, a listing and a command then take the workspace root. A `null` counts as absent.
    pub fn path_argument(self, args: &Map<String, Value>) -> Result<Option<&str>, GateError> {
        let keys: &[&'static str] = if self == Self::Shell { &DIRECTORY_KEYS } else { &PATH_KEYS };
        one_text(args, keys)
    }

    /// As [`path_argument`](Self::path_argument), but `None` also where the argument is ambiguous or not text.
    pub fn path_arg(self, args: &Map<String, Value>) -> Option<&str> {
        self.path_argument(args).ok().flatten()
    }

    /// Whether the tool works on the workspace root where no path is given.
    pub(crate) const fn path_is_optional(self) -> bool {
        matches!(self, Self::Grep | Self::Glob | Self::Ls | Self::Shell)
    }
}

/// The one text under `keys`.
pub(crate) fn one_text<'a>(
    args: &'a Map<String, Value>,
    keys: &[&'static str],
) -> Result<Option<&'a str>, GateError> {
    let mut found: Option<(&'static str, &Value)> = None;
    for key in keys {
        match (args.get(*key), found) {
            (None | Some(Value::Null), _) => {}
            (Some(_), Some((first, _))) => return Err(GateError::AmbiguousPath { first, second: key }),
            (Some(value), None) => found = Some((key, value)),
        }
    }
    match found {
        None => Ok(None),
        Some((_, Value::String(text))) => Ok(Some(text)),
        Some((name, _)) => Err(GateError::InvalidArgument { name, expected: "a string" }),
    }
}
