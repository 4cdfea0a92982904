//! From what the configuration says to models that answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use headstart_forked_query::{
    ApiKey, BackgroundModel, EventStream, HttpModel, KeyNeed, Model, ModelError, ModelRequest,
    Provider as Service, ProviderRelation, Recorder, Recording, Replay, Timeouts,
};

use crate::config::{self, Config};
use crate::environment::Environment;
use crate::error::CliError;
use crate::model_spec::{ModelSpec, Provider};

/// The models of one run of a command.
pub(crate) struct Models {
    /// Answers the conversation's own turns.
    pub(crate) main: Arc<dyn Model>,
    /// What the provider calls it.
    pub(crate) main_name: String,
    /// Suggests and speculates.
    pub(crate) background: BackgroundModel,
    tape: Option<Tape>,
}

/// Where `--record` puts what the models say.
struct Tape {
    file: PathBuf,
    recorder: Arc<Recorder>,
}

/// Two models behind one port, so that one tape has the answers of both in the order they were asked for.
struct ByName {
    main: Arc<dyn Model>,
    fast: Arc<dyn Model>,
    fast_name: String,
}

impl Models {
    /// The models that the configuration names. What they say is kept for the file `record`, where there is one.
    pub(crate) fn open(
        config: &Config,
        environment: &Environment,
        record: Option<&Path>,
    ) -> Result<Self, CliError> {
        let Some(main_spec) = &config.model else {
            return Err(CliError::NoModel { user_file: config::user_file(environment) });
        };
        let main_name = name(main_spec);
        let mut main = open(main_spec, main_spec, config, environment)?;
        // One recording is played once, whoever asks.
        let fast_spec = config.fast_model.as_ref().filter(|fast| *fast != main_spec);
        let fast = fast_spec.map(|spec| open(spec, main_spec, config, environment)).transpose()?;
        let mut background = fast_spec.zip(fast).map(|(spec, fast)| {
            let same = spec.provider().is_some() && spec.provider() == main_spec.provider();
            let relation = if same { ProviderRelation::Same } else { ProviderRelation::Other };
            BackgroundModel::fast(fast, name(spec), relation)
        });
        let tape = record.map(|file| {
            let both: Arc<dyn Model> = match &background {
                None => Arc::clone(&main),
                Some(fast) => Arc::new(ByName {
                    main: Arc::clone(&main),
                    fast: Arc::clone(&fast.model),
                    fast_name: fast.name.clone(),
                }),
            };
            let start = Instant::now();
            let recorder = Arc::new(Recorder::new(both).with_clock(Arc::new(move || start.elapsed())));
            main = Arc::clone(&recorder) as Arc<dyn Model>;
            if let Some(fast) = &mut background {
                fast.model = Arc::clone(&main);
            }
            Tape { file: file.to_owned(), recorder }
        });
        let background = background.unwrap_or_else(|| BackgroundModel::main(Arc::clone(&main), &main_name));
        Ok(Self { main, main_name, background, tape })
    }

    /// A recording for every task, its delays divided by `speed`.
    pub(crate) fn of_recording(recording: Recording, speed: f64) -> Self {
        let sleep = Arc::new(move |time: Duration| Box::pin(tokio::time::sleep(time.div_f64(speed))) as _);
        let main: Arc<dyn Model> = Arc::new(Replay::new(recording, sleep));
        let main_name = "recording".to_owned();
        let background = BackgroundModel::main(Arc::clone(&main), &main_name);
        Self { main, main_name, background, tape: None }
    }

    /// Writes what was said to the file of `--record`, if there is one.
    pub(crate) fn save_recording(&self) -> Result<(), CliError> {
        let Some(tape) = &self.tape else { return Ok(()) };
        let mut text = serde_json::to_string_pretty(&tape.recorder.recording())
            .expect("works because a recording holds nothing but text, numbers and JSON");
        text.push('\n');
        fs::write(&tape.file, text).map_err(CliError::io("write", &tape.file))
    }
}

#[async_trait]
impl Model for ByName {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let model = if request.model == self.fast_name { &self.fast } else { &self.main };
        model.stream(request).await
    }
}

/// What the provider calls the model; a recording is called after its file.
fn name(spec: &ModelSpec) -> String {
    match spec {
        ModelSpec::Replay(_) => spec.to_string(),
        ModelSpec::Remote { name, .. } => name.clone(),
    }
}

fn open(
    spec: &ModelSpec,
    main: &ModelSpec,
    config: &Config,
    environment: &Environment,
) -> Result<Arc<dyn Model>, CliError> {
    match spec {
        ModelSpec::Replay(file) => replay(file),
        ModelSpec::Remote { provider, .. } => {
            // The base URL is that of the main model's server; another provider's key must not be sent there.
            let base_url = config.base_url.as_deref().filter(|_| Some(*provider) == main.provider());
            remote(spec, *provider, base_url, environment)
        }
    }
}

fn replay(file: &Path) -> Result<Arc<dyn Model>, CliError> {
    let text = fs::read_to_string(file).map_err(CliError::io("read", file))?;
    let recording =
        Recording::parse(&text).map_err(|source| CliError::Recording { file: file.to_owned(), source })?;
    let sleep = Arc::new(|time| Box::pin(tokio::time::sleep(time)) as _);
    Ok(Arc::new(Replay::new(recording, sleep)))
}

fn remote(
    spec: &ModelSpec,
    provider: Provider,
    base_url: Option<&str>,
    environment: &Environment,
) -> Result<Arc<dyn Model>, CliError> {
    let service = service(provider, base_url);
    let key = key(&service, environment)?;
    if key.is_none() && service.key == KeyNeed::Required {
        return Err(CliError::NoKey { model: spec.to_string(), variable: service.key_variable });
    }
    let model = HttpModel::new(service, key, Timeouts::default())?;
    Ok(Arc::new(model))
}

/// The key of a provider, from its variable or the other name that people know it by.
fn key(service: &Service, environment: &Environment) -> Result<Option<ApiKey>, CliError> {
    let other = (service.key_variable == "GEMINI_API_KEY").then_some("GOOGLE_API_KEY");
    for variable in [Some(service.key_variable.as_str()), other].into_iter().flatten() {
        if let Some(key) = environment.text(variable)? {
            return Ok(Some(ApiKey::new(key)));
        }
    }
    Ok(None)
}

/// Where the model is and which wire format is spoken there.
fn service(provider: Provider, base_url: Option<&str>) -> Service {
    let preset = match provider {
        Provider::Anthropic => Service::anthropic(),
        Provider::Gemini => Service::gemini(),
        Provider::OpenAi => Service::openai(),
        Provider::Responses => Service::responses(),
        Provider::DashScope => Service::dashscope(),
        Provider::Ollama => Service::ollama(),
    };
    match base_url {
        None => preset,
        // Some other server under OpenAI's name: it may lack what only OpenAI's own has.
        Some(url) if provider == Provider::OpenAi && !is_openai(url) => {
            Service { key_variable: preset.key_variable, ..Service::compatible("openai", url) }
        }
        Some(url) => preset.at(url),
    }
}

/// Whether OpenAI's own service, or that of its cloud partner, is at this URL.
fn is_openai(base_url: &str) -> bool {
    let host =
        base_url.split("://").nth(1).and_then(|rest| rest.split(['/', ':']).next()).unwrap_or_default();
    host.ends_with(".openai.com") || host.ends_with(".openai.azure.com")
}

#[cfg(test)]
mod tests;
