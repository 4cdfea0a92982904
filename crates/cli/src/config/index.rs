use serde::Deserialize;
use toml::Spanned;

use super::Config;
use super::file::File;
use crate::error::CliError;

/// What `[code-index]` says of the index of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexConfig {
    /// Whether there is one.
    pub(crate) enabled: bool,
    /// Whether past commits are a part of it.
    pub(crate) history: bool,
    /// How large its database may get.
    pub(crate) max_bytes: u64,
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self { enabled: true, history: true, max_bytes: 512 << 20 }
    }
}

/// The table as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct IndexTable {
    enabled: Option<Spanned<bool>>,
    history: Option<Spanned<bool>>,
    max_bytes: Option<Spanned<u64>>,
}

const LEAST_BYTES: u64 = 1 << 20;

/// Takes over what a file says; a project's can only have less indexed than its user.
pub(super) fn apply(config: &mut Config, file: &File, of_project: bool) -> Result<(), CliError> {
    let IndexTable { enabled, history, max_bytes } = file.index();
    let index = &mut config.index;
    for (name, value, setting) in [
        ("code-index.enabled", enabled, &mut index.enabled),
        ("code-index.history", history, &mut index.history),
    ] {
        let Some(value) = value else { continue };
        if of_project && !*setting && *value.get_ref() {
            let problem = "a project can only turn this off, and you have";
            return Err(file.refuse(file.line(&value.span()), name, problem));
        }
        *setting = *value.get_ref();
    }
    if let Some(value) = max_bytes {
        let refused =
            |problem: String| file.refuse(file.line(&value.span()), "code-index.max_bytes", problem);
        if *value.get_ref() < LEAST_BYTES {
            return Err(refused(format!("must be at least {LEAST_BYTES}")));
        }
        if of_project && index.max_bytes < *value.get_ref() {
            return Err(refused(format!("a project can only lower this, and yours is {}", index.max_bytes)));
        }
        index.max_bytes = *value.get_ref();
    }
    Ok(())
}
