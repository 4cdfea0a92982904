use serde_json::{Map, Value};

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

impl BuiltinTool {
    /// The tool that `name` stands for: its own name or one of its aliases.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "read_file" | "Read" => Self::ReadFile,
            "grep" | "grep_search" | "Grep" => Self::Grep,
            "glob" | "Glob" => Self::Glob,
            "ls" | "list_directory" | "LS" => Self::Ls,
            "edit" | "replace" | "Edit" => Self::Edit,
            "write_file" | "Write" => Self::WriteFile,
            "shell" | "run_shell_command" | "Bash" => Self::Shell,
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

    /// The argument that holds the path this call reads or writes, as the gate and the tool both take it.
    pub fn path_arg<'a>(self, _args: &'a Map<String, Value>) -> Option<&'a str> {
        todo!()
    }
}
