use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::error::CliError;
use crate::system::{users_folder, variable_name, variables};

/// The environment variables of the process, read once. An empty variable counts as not set.
#[derive(Debug, Clone, Default)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    pub fn of_process() -> Self {
        variables().collect()
    }

    pub fn get(&self, variable: &str) -> Option<&OsStr> {
        self.0
            .get(OsStr::new(&*variable_name(variable)))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// The value as text; an error if it is not UTF-8.
    pub fn text(&self, variable: &str) -> Result<Option<&str>, CliError> {
        let Some(value) = self.get(variable) else { return Ok(None) };
        value.to_str().map(Some).ok_or_else(|| CliError::Environment {
            variable: variable.to_owned(),
            message: "the value is not UTF-8".to_owned(),
        })
    }

    /// The values of the variables whose names `fits` accepts. A value or name that is not UTF-8 is left out.
    pub(crate) fn values(&self, fits: impl Fn(&str) -> bool) -> Vec<String> {
        let fitting = self.0.iter().filter(|(name, _)| name.to_str().is_some_and(&fits));
        fitting.filter_map(|(_, value)| value.to_str().map(str::to_owned)).collect()
    }

    /// The names of all variables, including empty ones. A name that is not UTF-8 is left out.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().filter_map(|name| name.to_str())
    }

    /// All variables.
    pub fn all(&self) -> BTreeMap<OsString, OsString> {
        self.0.clone()
    }

    /// A value that switches something on or off.
    pub(crate) fn switch(&self, variable: &str) -> Result<Option<bool>, CliError> {
        match self.text(variable)? {
            None => Ok(None),
            Some("on" | "true" | "yes" | "1") => Ok(Some(true)),
            Some("off" | "false" | "no" | "0") => Ok(Some(false)),
            Some(other) => Err(CliError::Environment {
                variable: variable.to_owned(),
                message: format!("{other:?} is neither on nor off"),
            }),
        }
    }

    /// A folder for headstart's files according to the XDG base directories: `$VARIABLE/headstart`, or else
    /// `$HOME/FALLBACK/headstart`, on Windows `%LOCALAPPDATA%\headstart` or `%APPDATA%\headstart`. Relative values are
    /// ignored, as the specification demands.
    pub(crate) fn xdg(&self, variable: &str, fallback: &str) -> Option<PathBuf> {
        let absolute =
            |variable: &str| self.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let is_configuration = variable == "XDG_CONFIG_HOME";
        let parent = absolute(variable).or_else(|| users_folder(absolute, is_configuration, fallback))?;
        Some(parent.join("headstart"))
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<I: IntoIterator<Item = (OsString, OsString)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn folders_follow_the_xdg_directories() {
        let cases = [
            ("/s", "/h", Some("/s/headstart")),
            ("", "/h", Some("/h/.local/state/headstart")),
            ("s", "/h", Some("/h/.local/state/headstart")),
            ("", "h", None),
            ("", "", None),
        ];
        for (state, home, expected) in cases {
            let folder = environment(&[("XDG_STATE_HOME", state), ("HOME", home)])
                .xdg("XDG_STATE_HOME", ".local/state");
            assert_eq!(folder.as_deref(), expected.map(Path::new), "{state:?} {home:?}");
        }
    }

    #[test]
    fn a_switch_is_on_or_off_and_nothing_else() {
        for (value, expected) in [("on", Some(true)), ("0", Some(false)), ("", None)] {
            assert_eq!(environment(&[("X", value)]).switch("X").unwrap(), expected, "{value}");
        }
        let error = environment(&[("X", "maybe")]).switch("X").unwrap_err();
        assert_eq!(error.to_string(), "X: \"maybe\" is neither on nor off");
    }
}
