use serde::{Deserialize, Serialize};

/// What a view refused a command, which may be why it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "several of them may hold, and each is asked for by itself"
)]
pub struct ViewRefusals {
    /// How often it tried to reach a network other than the loopback.
    pub network: u64,
    /// Whether a process asked for more rights than its user's (`sudo`, `su`).
    pub privileges: bool,
    /// Whether a program that inspects processes was refused: a debugger, `strace`, a sanitizer of addresses or of
    /// leaks.
    pub tracing: bool,
    /// Whether a rename was refused: of a folder as a whole, or from one file system of the view to another.
    pub renaming: bool,
    /// Whether a commit or a tag needed a signing key, which a view does not have.
    pub signature: bool,
    /// The limit that it reached, with its value: bytes, files or processes.
    pub quota: Option<String>,
}

impl ViewRefusals {
    /// Whether a failure may be caused by the view and not by the command.
    pub fn may_explain(&self, exit_code: Option<i32>) -> bool {
        let failed = exit_code != Some(0);
        // A debugger exits with 0 even if it could do nothing.
        self.privileges || self.tracing || failed && (0 < self.network || self.signature || self.renaming)
    }
}
