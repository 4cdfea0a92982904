use serde::{Deserialize, Serialize};

/// What a view kept from a command, which may be why it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "several of them may hold, and each is asked for by itself"
)]
pub struct Refused {
    /// How often it looked for a way out to a network; loopback does not count.
    pub network: u64,
    /// Whether a process asked for more rights than its user's (`sudo`, `su`).
    pub privileges: bool,
    /// Whether a program that looks into processes may not: a debugger, `strace`, a sanitizer of addresses or of leaks.
    pub tracing: bool,
    /// Whether something could not be renamed: a folder as a whole, or from one file system of the view to another.
    pub renaming: bool,
    /// Whether a commit or a tag was to be signed, with a key that is not there.
    pub signature: bool,
    /// The limit that it reached, with its figure: bytes, files or processes.
    pub quota: Option<String>,
}

impl Refused {
    /// Whether a failure may be the view's and not the command's.
    pub fn may_explain(&self, exit_code: Option<i32>) -> bool {
        let failed = exit_code != Some(0);
        // A debugger ends with 0, whatever it could not do.
        self.privileges || self.tracing || failed && (0 < self.network || self.signature || self.renaming)
    }
}
