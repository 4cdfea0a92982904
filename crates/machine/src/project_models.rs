//! The models that a project's file chooses count when their user has agreed: another model costs something else, and
//! may run somewhere else.
//!
//! `STATE/project-models/WORKSPACE` holds the answer, and what was asked about.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::{Config, ProjectModels};
use crate::context::Context;
use crate::error::CliError;
use crate::model_spec::ModelSpec;
use crate::output;
use crate::store::create_private_folder;
use crate::workspace::state_name;

/// An answer about the models that were asked about, and about no others.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    uses: bool,
    asked: String,
}

/// The configuration with the project's models if the user has agreed to them here, else with the user's own.
pub(crate) fn settled(config: Config, context: &Context, workspace: &Path) -> Config {
    let Some(models) = &config.project_models else { return config };
    match answer(models, context, workspace) {
        Some(true) => Config { project_models: None, ..config },
        said => {
            let (model, fast_model) = models.users.clone();
            let project_models = config.project_models.clone().filter(|_| said.is_none());
            Config { model, fast_model, project_models, ..config }
        }
    }
}

/// Asks a user at a terminal about the project's models, if they were not asked about these before.
pub(crate) fn ask(config: &Config, context: &Context, workspace: &Path) -> Result<(), CliError> {
    let Some(models) = &config.project_models else { return Ok(()) };
    if answer(models, context, workspace).is_some() {
        return Ok(());
    }
    output::print(&format!("{}\nUse it here, now and later? [y/N] ", words(models)))?;
    let mut line = String::new();
    io::stdout().flush().map_err(CliError::Output)?;
    io::stdin().read_line(&mut line).map_err(CliError::Input)?;
    let answer = Answer { uses: matches!(line.trim(), "y" | "Y" | "yes"), asked: asked(models) };
    let Some(file) = file(context, workspace) else { return Ok(()) };
    create_private_folder(file.parent().unwrap_or(Path::new(".")))?;
    let text = serde_json::to_string(&answer).map_err(|error| CliError::Unavailable(error.to_string()))?;
    fs::write(&file, text).map_err(CliError::io("write", &file))
}

/// What a user is told where nobody is asked.
pub(crate) fn note(models: &ProjectModels) -> String {
    format!(
        "{}. It is not used, because you were not asked: a chat here asks, and --model chooses one",
        words(models)
    )
}

/// Who chooses what, in place of what.
fn words(models: &ProjectModels) -> String {
    let ((model, fast), (users, users_fast)) = (&models.chosen, &models.users);
    let name = |spec: &Option<ModelSpec>| {
        spec.as_ref()
            .map_or("the conversation's model".to_owned(), |spec| output::one_line(&spec.to_string()))
    };
    let main = (model != users).then(|| format!("{} in place of {}", name(model), name(users)));
    let ahead = (fast != users_fast)
        .then(|| format!("{} in place of {} for background work", name(fast), name(users_fast)));
    let both: Vec<_> = main.into_iter().chain(ahead).collect();
    format!("This project's {} chooses {}", crate::config::PROJECT_FILE, both.join(", and "))
}

fn asked(models: &ProjectModels) -> String {
    let name = |spec: &Option<ModelSpec>| spec.as_ref().map(ToString::to_string).unwrap_or_default();
    let ((model, fast), (users, users_fast)) = (&models.chosen, &models.users);
    [model, fast, users, users_fast].map(name).join("\n")
}

fn answer(models: &ProjectModels, context: &Context, workspace: &Path) -> Option<bool> {
    let text = fs::read_to_string(file(context, workspace)?).ok()?;
    let answer: Answer = serde_json::from_str(&text).ok()?;
    (answer.asked == asked(models)).then_some(answer.uses)
}

fn file(context: &Context, workspace: &Path) -> Option<PathBuf> {
    let store = context.store().ok()?;
    Some(store.state_folder().join("project-models").join(state_name(workspace)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Flags;
    use crate::environment::Environment;
    use crate::output::Output;

    #[test]
    fn a_projects_model_counts_when_its_user_agreed_to_this_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("config/headstart/config.toml", "model = 'ollama:small'");
        write("project/.headstart/config.toml", "model = 'ollama:large-cloud'");
        let variables = [("XDG_CONFIG_HOME", root.join("config")), ("HOME", root.clone())];
        let environment: Environment =
            variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let output = Output::new(false, &environment);
        let context = Context { output, environment, state_dir: Some(root.join("state")) };
        let project = root.join("project");
        let used = |flags: &Flags| {
            let config = context.config(flags, &project).unwrap();
            (config.model.clone().unwrap().to_string(), config.project_models.is_some(), config)
        };
        let (model, is_told, config) = used(&Flags::default());
        assert_eq!((model.as_str(), is_told), ("ollama:small", true));
        assert!(config.is_free(config.model.as_ref().unwrap()));
        let said = note(config.project_models.as_ref().unwrap());
        let words = "This project's .headstart/config.toml chooses ollama:large-cloud in place of ollama:small. It is not used";
        assert!(said.starts_with(words), "{said}");
        // The user's own word of this moment is not asked about.
        let flags = Flags { model: Some("ollama:other".parse().unwrap()), ..Flags::default() };
        let (model, is_told, _) = used(&flags);
        assert_eq!((model.as_str(), is_told), ("ollama:other", false));

        let answer = |uses: bool| {
            let models = config.project_models.as_ref().unwrap();
            let answer = Answer { uses, asked: asked(models) };
            let file = file(&context, &project).unwrap();
            create_private_folder(file.parent().unwrap()).unwrap();
            fs::write(file, serde_json::to_string(&answer).unwrap()).unwrap();
        };
        answer(false);
        let (model, is_told, _) = used(&Flags::default());
        assert_eq!((model.as_str(), is_told), ("ollama:small", false), "a no is not repeated");
        answer(true);
        let (model, is_told, config) = used(&Flags::default());
        assert_eq!((model.as_str(), is_told), ("ollama:large-cloud", false));
        assert!(!config.is_free(config.model.as_ref().unwrap()), "it runs elsewhere");
        for other in ["model = 'ollama:huge'", "model = 'ollama:large-cloud'\nfast_model = 'ollama:huge'"] {
            write("project/.headstart/config.toml", other);
            let (model, is_told, _) = used(&Flags::default());
            assert_eq!((model.as_str(), is_told), ("ollama:small", true), "{other}");
        }
    }
}
