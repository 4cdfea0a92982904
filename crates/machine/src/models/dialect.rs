//! Turns what the user says about one model into the way in which its server is asked.

use headstart_providers::{ExtraFields, FieldScope, Header, Provider as Service, Wire};
use serde_json::{Value, json};

use crate::config::{Config, Dialect, HeaderText, Thinking};
use crate::environment::Environment;
use crate::error::CliError;
use crate::model_spec::{ModelSpec, Provider};

/// How many tokens a model of Ollama's is asked to see at once if the user does not say how many.
///
/// On a machine with less than 24 GiB of video memory its server would use 4,096, which the tools and one file fill,
/// and silently cut the beginning of what is longer. More than this number would take gigabytes of memory besides the
/// model itself.
pub(super) const OLLAMA_CONTEXT: u32 = 32_768;

/// The service with the settings for this model.
pub(super) fn with_dialect(
    service: Service,
    spec: &ModelSpec,
    config: &Config,
    environment: &Environment,
) -> Result<Service, CliError> {
    let model = spec.to_string();
    let dialect = config.per_model.get(&model).dialect;
    let mut headers = Vec::new();
    for (name, text) in dialect.headers {
        let value = match text {
            HeaderText::Plain(value) => value,
            HeaderText::Variable(variable) => of_environment(environment, &variable, &name, &model)?,
        };
        headers.push(Header { name, value });
    }
    let wire = match service.wire {
        Wire::Chat(mut options) => {
            options.output_limit = dialect.output_limit.unwrap_or(options.output_limit);
            options.prompt_cache_key = dialect.prompt_cache_key;
            Wire::Chat(options)
        }
        Wire::Responses(mut options) => {
            options.prompt_cache_key = dialect.prompt_cache_key;
            Wire::Responses(options)
        }
        Wire::Ollama(mut options) => {
            options.context_tokens = silent_window(spec, config);
            Wire::Ollama(options)
        }
        other => other,
    };
    Ok(Service { wire, headers, key_header: dialect.key_header, ..service })
}

/// How the model thinks in the user's own turns, in the terms of its format.
///
/// Anthropic's cache distinguishes requests that ask for thinking in different ways, so all requests of a conversation
/// ask in the same way there. With other providers work ahead is not asked to think.
pub(super) fn thinking(spec: &ModelSpec, config: &Config) -> ExtraFields {
    let Some(provider) = spec.provider() else { return ExtraFields::default() };
    let Dialect { thinking, effort, .. } = config.per_model.get(&spec.to_string()).dialect;
    let mut scope = FieldScope::Turns;
    let mut room = 0;
    let fields = match provider {
        Provider::Anthropic => {
            scope = FieldScope::All;
            if let Some(Thinking::Tokens(tokens)) = thinking {
                room = tokens;
            }
            json!({
                "thinking": thinking.map(|thinking| match thinking {
                    Thinking::Off => json!({ "type": "disabled" }),
                    Thinking::On => json!({ "type": "adaptive" }),
                    Thinking::Tokens(tokens) => json!({ "type": "enabled", "budget_tokens": tokens }),
                }),
                "output_config": effort.map(|effort| json!({ "effort": effort })),
            })
        }
        Provider::Gemini => {
            let budget = thinking.map(|thinking| match thinking {
                Thinking::Off => json!({ "thinkingBudget": 0 }),
                Thinking::On => json!({ "thinkingBudget": -1 }),
                Thinking::Tokens(tokens) => json!({ "thinkingBudget": tokens }),
            });
            let level = effort.map(|effort| json!({ "thinkingLevel": effort }));
            json!({ "generationConfig": level.or(budget).map(|how| json!({ "thinkingConfig": how })) })
        }
        Provider::OpenAi => json!({
            "reasoning_effort": effort,
            "chat_template_kwargs": thinking.map(|thinking| json!({ "enable_thinking": thinking != Thinking::Off })),
        }),
        Provider::Responses => json!({ "reasoning": effort.map(|effort| json!({ "effort": effort })) }),
        Provider::DashScope => json!({
            "enable_thinking": thinking.map(|thinking| thinking != Thinking::Off),
            "thinking_budget": match thinking {
                Some(Thinking::Tokens(tokens)) => Some(tokens),
                _ => None,
            },
        }),
        #[cfg(feature = "bedrock")]
        Provider::Bedrock => Value::Null,
        Provider::Ollama => {
            let switch = thinking.map(|thinking| json!(thinking != Thinking::Off));
            json!({ "think": effort.map(|effort| json!(effort)).or(switch) })
        }
    };
    let Value::Object(mut fields) = fields else { return ExtraFields::default() };
    fields.retain(|_, value| !value.is_null());
    ExtraFields { fields, scope, room }
}

fn of_environment(
    environment: &Environment,
    variable: &str,
    header: &str,
    model: &str,
) -> Result<String, CliError> {
    if let Some(value) = environment.text(variable)? {
        return Ok(value.trim().to_owned());
    }
    let message = format!("is not set, and the header {header:?} of {model} in your configuration wants it");
    Err(CliError::Environment { variable: variable.to_owned(), message })
}

/// How many tokens a model sees at once, if that is known.
pub(super) fn window(spec: &ModelSpec, config: &Config) -> Option<u32> {
    let said = config.per_model.get(&spec.to_string()).dialect.context_tokens;
    silent_window(spec, config).or(said).or_else(|| config.listed_window(spec))
}

/// How many tokens a model sees at once, if its server does not report that there are more.
pub(super) fn silent_window(spec: &ModelSpec, config: &Config) -> Option<u32> {
    let ModelSpec::Remote { provider: Provider::Ollama, name } = spec else { return None };
    let said = config.per_model.get(&spec.to_string()).dialect.context_tokens;
    // A model that the server only forwards to has the window of that model.
    let is_elsewhere = name.ends_with("-cloud") || name.ends_with(":cloud");
    said.or((!is_elsewhere).then_some(OLLAMA_CONTEXT))
}
