//! Another model in the middle of a conversation.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use headstart_agent::UsedModels;
use headstart_context::Window;

use super::{Chat, Holds};
use crate::config::Config;
use crate::environment::Environment;
use crate::error::CliError;
use crate::mentions::Mentions;
use crate::model_spec::ModelSpec;
use crate::models::Models;
use crate::terminal::{Known, Style};

/// Which models a conversation can be had with.
pub(crate) struct ModelChoice {
    /// As it was at the beginning: an address that it names is the first model's.
    config: Box<Config>,
    environment: Environment,
    /// Whether what the model says is kept for a file.
    is_recorded: bool,
    pub(super) holds: Holds,
    /// Those that were chosen since, to be closed at the end.
    opened: Vec<Models>,
}

impl ModelChoice {
    pub(crate) fn new(
        models: &Models,
        config: &Config,
        environment: &Environment,
        record: Option<&Path>,
    ) -> Self {
        Self {
            config: Box::new(config.clone()),
            environment: environment.clone(),
            is_recorded: record.is_some(),
            holds: Holds::of(models),
            opened: Vec::new(),
        }
    }

    /// The configuration with another model. An address is of one server, and no other provider's key is sent there.
    fn with(&self, spec: &ModelSpec) -> Config {
        let mut config = Config { model: Some(spec.clone()), ..(*self.config).clone() };
        let first = self.config.model.as_ref();
        if first.and_then(ModelSpec::provider) != spec.provider() {
            config.base_url = None;
            config.requests.cache_lifetime = std::time::Duration::ZERO;
        }
        if spec.provider().is_some() {
            config.speed = 1.0;
        }
        config
    }

    /// What is known of the terminal.
    pub(super) fn known_terminal(&self) -> Known {
        Known::of(|name| self.variable(name))
    }

    /// A variable of the environment.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name)?.to_str().map(str::to_owned)
    }

    /// Ends what the models began that were chosen in the middle.
    pub(super) async fn close(&self) -> Result<(), CliError> {
        for models in &self.opened {
            models.close().await?;
        }
        Ok(())
    }
}

impl Chat {
    /// Says which model answers, or has another one answer from now on.
    pub(super) fn on_model(&mut self, name: Option<&str>) -> Result<(), CliError> {
        let Some(name) = name else {
            let now = self.settings.main_model();
            let now = if now.is_empty() { self.parts.model_name.clone() } else { now };
            let fast = self.settings.fast_model.as_ref().map(|fast| format!(", and {fast} the work ahead"));
            let text = format!("{now} answers{}; /model NAME chooses another", fast.unwrap_or_default());
            return self.face.say(&text, Style::Dim);
        };
        match self.open_models(name) {
            Ok((spec, config, models)) => self.use_models(&spec, config, models),
            Err(problem) => self.face.say(&format!("the model stays as it is: {problem}"), Style::Removed),
        }
    }

    fn open_models(&self, name: &str) -> Result<(ModelSpec, Config, Models), String> {
        if self.models.is_recorded {
            return Err("--record keeps what one model says; begin another chat for another one".to_owned());
        }
        let spec: ModelSpec = name.parse().map_err(|error: CliError| error.to_string())?;
        let config = self.models.with(&spec);
        let models =
            Models::open(&config, &self.models.environment, None).map_err(|error| error.to_string())?;
        Ok((spec, config, models))
    }

    fn use_models(&mut self, spec: &ModelSpec, config: Config, models: Models) -> Result<(), CliError> {
        let window = models.background.limits.window_tokens;
        self.works_here.store(config.works_here(), Ordering::Relaxed);
        self.agent.use_models(UsedModels {
            name: models.main_name.clone(),
            model: Arc::clone(&models.main),
            background: models.background.clone(),
            window: window_of(window, &config),
            tariff: config.tariff(),
        });
        self.parts.host.set_mentions(Mentions::new(self.parts.engine.toolbox.clone(), window));
        self.parts.tool_refusals = Arc::clone(&models.tool_refusals);
        self.parts.model_name.clone_from(&models.main_name);
        self.settings.model = config.model;
        self.models.holds = Holds::of(&models);
        self.models.opened.push(models);
        self.refresh_status();
        self.face.say(&format!("{spec} answers from now on; what ran ahead is dropped"), Style::Dim)
    }
}

/// What the model sees at once, and when the conversation is made shorter for it.
pub(super) fn window_of(tokens: Option<u64>, config: &Config) -> Option<Window> {
    let compact_at = u8::try_from(config.compact_at).unwrap_or(100);
    tokens.map(|tokens| Window { tokens, compact_at })
}

/// Whether the background work is done on this machine, for nothing.
pub(super) type WorksHere = Arc<AtomicBool>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_goes_with_the_provider_for_which_it_was_set() {
        let model = |spec: &str| spec.parse::<ModelSpec>().unwrap();
        let config = Config {
            model: Some(model("openai:one")),
            base_url: Some("http://localhost:1/v1".to_owned()),
            ..Config::default()
        };
        let models = Models::of_model(Arc::new(headstart_providers::Replay::new(
            headstart_providers::Recording::parse(r#"{"turns":[{"text":"x"}]}"#).unwrap(),
            Arc::new(|_| Box::pin(std::future::ready(())) as _),
        )));
        let choice = ModelChoice::new(&models, &config, &Environment::default(), None);
        for (spec, expected) in
            [("openai:two", true), ("anthropic:x", false), ("ollama:y", false), ("openai:one", true)]
        {
            assert_eq!(choice.with(&model(spec)).base_url.is_some(), expected, "{spec}");
        }
    }
}
