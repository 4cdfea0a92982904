use serde::{Deserialize, Serialize};

/// What a view kept from a command, which may be why it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Refused {
    /// How often it looked for a way out to a network; loopback does not count.
    pub network: u64,
    /// Whether a process asked for more rights than its user's (`sudo`, `su`).
    pub privileges: bool,
    /// Whether a commit or a tag was to be signed, with a key that is not there.
    pub signature: bool,
    /// The limit that it reached, with its figure: bytes, files or processes.
    pub quota: Option<String>,
}

impl Refused {
    /// Whether a failure may be the view's and not the command's.
    pub fn may_explain(&self, exit_code: Option<i32>) -> bool {
        let failed = exit_code != Some(0);
        self.privileges || failed && (0 < self.network || self.signature)
    }
}
