//! Which models answer, and how they are changed in the middle of a conversation.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use headstart_agent::{AgentHandle, ModelSettings};
use headstart_context::Window;
use headstart_providers::PendingRetrySender;

use crate::config::Config;
use crate::environment::Environment;
use crate::error::CliError;
use crate::mentions::Mentions;
use crate::model_spec::ModelSpec;
use crate::models::Models;
use crate::parts::ConversationParts;

/// Whether the background work is done on this machine for free.
pub type LocalModelFlag = Arc<AtomicBool>;

/// The models with which a conversation can go on.
pub struct ModelChoice {
    /// The configuration at the beginning. An address in it belongs to the first model.
    config: Box<Config>,
    environment: Environment,
    /// Whether what the model says is recorded in a file.
    is_recorded: bool,
    /// Where the current models report that they wait: the model of turns, and that of background work.
    pub waits: (PendingRetrySender, PendingRetrySender),
    /// The models that were chosen since the beginning, which have to be closed at the end.
    opened: Vec<Models>,
}

/// A model that was chosen and has not been asked anything yet.
pub struct SelectedModel {
    /// The model that answers.
    pub spec: ModelSpec,
    config: Config,
    models: Models,
}

impl SelectedModel {
    /// The model of the work ahead, if it is another one.
    pub fn fast(&self) -> Option<&ModelSpec> {
        self.config.fast_model.as_ref()
    }
}

impl ModelChoice {
    pub fn new(models: &Models, config: &Config, environment: &Environment, record: Option<&Path>) -> Self {
        Self {
            config: Box::new(config.clone()),
            environment: environment.clone(),
            is_recorded: record.is_some(),
            waits: models.waits.clone(),
            opened: Vec::new(),
        }
    }

    /// The configuration with another model. A model of another provider does not keep the address, so that no other
    /// provider's key is sent to that server.
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

    /// A variable of the environment.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name)?.to_str().map(str::to_owned)
    }

    /// Opens a model by its name. The error says what is wrong with it.
    pub fn open(&self, name: &str) -> Result<SelectedModel, String> {
        if self.is_recorded {
            return Err("--record keeps what one model says; begin another chat for another one".to_owned());
        }
        let spec: ModelSpec = name.parse().map_err(|error: CliError| error.to_string())?;
        let config = self.with(&spec);
        let models = Models::open(&config, &self.environment, None).map_err(|error| error.to_string())?;
        Ok(SelectedModel { spec, config, models })
    }

    /// Opens a model by its name for the work ahead, beside the one that answers; the name of that one means itself. The
    /// error says what is wrong with it.
    pub fn open_fast(&self, answers: Option<&ModelSpec>, name: &str) -> Result<SelectedModel, String> {
        if self.is_recorded {
            return Err("--record keeps what one model says; begin another chat for another one".to_owned());
        }
        let spec = answers.or(self.config.model.as_ref()).cloned().ok_or("no model answers yet")?;
        let fast: ModelSpec = name.parse().map_err(|error: CliError| error.to_string())?;
        let mut config = self.with(&spec);
        config.fast_model = (fast != spec).then_some(fast);
        let models = Models::open(&config, &self.environment, None).map_err(|error| error.to_string())?;
        Ok(SelectedModel { spec, config, models })
    }

    /// Makes this model answer from now on.
    pub fn use_models(
        &mut self,
        agent: &AgentHandle,
        parts: &mut ConversationParts,
        uses_local_model: &LocalModelFlag,
        chosen: SelectedModel,
    ) -> ModelSpec {
        let SelectedModel { spec, config, models } = chosen;
        let window = models.background.limits.window_tokens;
        uses_local_model.store(config.uses_local_model(), Ordering::Relaxed);
        agent.use_models(ModelSettings {
            name: models.main_name.clone(),
            model: Arc::clone(&models.main),
            background: models.background.clone(),
            window: window_of(window, &config),
            tariff: config.tariff(),
        });
        parts.host.set_mentions(Mentions::new(
            parts.engine.toolbox.clone(),
            &models,
            Arc::clone(&parts.server_tools),
        ));
        parts.tool_refusals = Arc::clone(&models.tool_refusals);
        parts.model_name.clone_from(&models.main_name);
        self.waits = models.waits.clone();
        self.config.fast_model.clone_from(&config.fast_model);
        self.opened.push(models);
        spec
    }

    /// Closes the models that were chosen in the middle.
    pub async fn close(&self) -> Result<(), CliError> {
        for models in &self.opened {
            models.close().await?;
        }
        Ok(())
    }
}

/// How much the model sees at once, and at which size the conversation is compacted.
pub(crate) fn window_of(tokens: Option<u64>, config: &Config) -> Option<Window> {
    let compact_at = u8::try_from(config.compact_at).unwrap_or(100);
    tokens.map(|tokens| Window { tokens, compact_at })
}

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
