//! Environment variables. On Windows their names have no case, so they are in upper case here.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

/// The environment variables of this process. On Windows the home folder has the name that it has elsewhere, too.
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    #[cfg(unix)]
    return std::env::vars_os();
    #[cfg(windows)]
    {
        let mut all: std::collections::BTreeMap<_, _> =
            std::env::vars_os().map(|(name, value)| (name.to_ascii_uppercase(), value)).collect();
        let is_path = |home: &OsString| std::path::Path::new(home).is_absolute();
        if !all.get(std::ffi::OsStr::new("HOME")).is_some_and(is_path)
            && let Some(home) = std::env::home_dir()
        {
            all.insert("HOME".into(), home.into());
        }
        all.into_iter()
    }
}

/// The name of a variable as [`variables`] spells it.
pub fn variable_name(name: &str) -> Cow<'_, str> {
    if cfg!(windows) { name.to_ascii_uppercase().into() } else { name.into() }
}

/// The folder in which a user expects the state or the configuration of programs: `FALLBACK` in the home folder, and on
/// Windows the one that the system names for such files.
pub fn users_folder(
    variable: impl Fn(&str) -> Option<PathBuf>,
    is_configuration: bool,
    fallback: &str,
) -> Option<PathBuf> {
    #[cfg(windows)]
    if let Some(folder) = variable(if is_configuration { "APPDATA" } else { "LOCALAPPDATA" }) {
        return Some(folder);
    }
    #[cfg(unix)]
    let _ = is_configuration;
    Some(variable("HOME")?.join(fallback))
}
