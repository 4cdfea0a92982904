//! What a chat looks like in a terminal. Only its user decides this.

use toml::Spanned;

use super::file::File;
use crate::environment::Environment;
use crate::error::CliError;
use headstart_terminal::{DiffForm, Key, KeyMap, Markdown, ThemeChoice};

/// How a chat looks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct ScreenConfig {
    /// How answers look.
    pub markdown: Markdown,
    /// Which colours there are.
    pub theme: ThemeChoice,
    /// How diffs are laid out.
    pub diff: DiffForm,
    /// Whether the terminal is notified when a question waits or a long turn has ended.
    pub notify: bool,
    /// Whether the terminal's title shows what is going on.
    pub title: bool,
    /// Whether something on the screen may change by itself, such as the seconds of a running command.
    pub animations: bool,
    /// What made the chat lines for a screen reader; `None` if it is not.
    pub read_aloud: Option<String>,
    /// The parts of the last row, the most important one first.
    pub status: Vec<StatusPart>,
    /// Whether the prompt is edited with the modes of vi.
    pub vi: bool,
    /// What keys do in the prompt.
    pub keys: KeyMap,
}

/// A part of the last row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPart {
    /// The approval mode: how much runs without a question.
    Mode,
    /// The model that answers.
    Model,
    /// The branch of the repository.
    Branch,
    /// How much of the model's window is used.
    Context,
    /// What the conversation has cost.
    Cost,
    /// How much waiting work ahead has saved the user.
    Saved,
}

impl StatusPart {
    const ALL: [(&'static str, Self); 6] = [
        ("mode", Self::Mode),
        ("model", Self::Model),
        ("branch", Self::Branch),
        ("context", Self::Context),
        ("cost", Self::Cost),
        ("saved", Self::Saved),
    ];

    fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, part)| *part).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("{name:?} is none of {}", known.join(", "))
        })
    }
}

impl Default for ScreenConfig {
    fn default() -> Self {
        Self {
            markdown: Markdown::default(),
            theme: ThemeChoice::default(),
            diff: DiffForm::default(),
            notify: true,
            title: true,
            animations: true,
            read_aloud: None,
            status: StatusPart::ALL.iter().map(|(_, part)| *part).collect(),
            vi: false,
            keys: KeyMap::default(),
        }
    }
}

impl ScreenConfig {
    /// Applies what the user's own file says.
    pub(super) fn apply_users(&mut self, file: &File) -> Result<(), CliError> {
        if let Some(status) = file.status() {
            let parse = |name: &Spanned<String>| {
                StatusPart::parse(name.get_ref()).map_err(|problem| {
                    file.source().refuse(file.source().line(&name.span()), "status", problem)
                })
            };
            self.status = status.get_ref().iter().map(parse).collect::<Result<_, _>>()?;
        }
        self.keys = keys(file)?;
        self.markdown = file.markdown()?.map_or(self.markdown, |choice| choice.value);
        self.theme = file.theme()?.map_or(self.theme, |choice| choice.value);
        self.diff = file.diff()?.map_or(self.diff, |choice| choice.value);
        self.vi = file.vi()?.map_or(self.vi, |choice| choice.value);
        let path = file.source().path().display();
        for (name, value) in file.screen_switches() {
            let Some(value) = value.map(Spanned::get_ref) else { continue };
            match name {
                "notify" => self.notify = *value,
                "title" => self.title = *value,
                "animations" => self.animations = *value,
                _ => self.read_aloud = value.then(|| format!("screen_reader in {path}")),
            }
        }
        Ok(())
    }

    /// Applies what the environment says.
    pub(super) fn apply_variable(&mut self, environment: &Environment) -> Result<(), CliError> {
        const VARIABLE: &str = "HEADSTART_SCREEN_READER";
        if let Some(is_on) = environment.switch(VARIABLE)? {
            self.read_aloud = is_on.then(|| VARIABLE.to_owned());
        }
        Ok(())
    }
}

fn keys(file: &File) -> Result<KeyMap, CliError> {
    let refuse = |name: &str, span: &std::ops::Range<usize>, problem: String| {
        file.source().refuse(file.source().line(span), &format!("keys.{name}"), problem)
    };
    let mut changed = Vec::new();
    for (name, keys) in file.keys() {
        let read = |key: &Spanned<String>| {
            key.get_ref().parse().map_err(|problem| refuse(name, &key.span(), problem))
        };
        changed.push((name.as_str(), keys.get_ref().iter().map(read).collect::<Result<Vec<Key>, _>>()?));
    }
    KeyMap::default().with(&changed).map_err(|(name, problem)| {
        let span = file.keys().get(&name).map(Spanned::span).unwrap_or_default();
        refuse(&name, &span, problem)
    })
}

/// Refuses settings of the screen and of keys in a project's file, because only the user decides about them.
pub(super) fn refuse_projects(file: &File) -> Result<(), CliError> {
    let problem = "a project cannot say what your screen looks like; set it in your own file";
    let placed = [
        ("markdown", file.markdown()?.map(|choice| choice.line)),
        ("theme", file.theme()?.map(|choice| choice.line)),
        ("diff", file.diff()?.map(|choice| choice.line)),
        ("editing", file.vi()?.map(|choice| choice.line)),
        ("status", file.status().map(|status| file.source().line(&status.span()))),
    ];
    let switches = file
        .screen_switches()
        .map(|(name, value)| (name, value.map(|value| file.source().line(&value.span()))));
    for (name, line) in placed.into_iter().chain(switches) {
        if let Some(line) = line {
            return Err(file.source().refuse(line, name, problem));
        }
    }
    match file.keys().values().next() {
        Some(keys) => {
            let problem = "a project cannot say what your keys do; set it in your own file";
            Err(file.source().refuse(file.source().line(&keys.span()), "keys", problem))
        }
        None => Ok(()),
    }
}
