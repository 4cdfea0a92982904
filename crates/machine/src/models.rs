//! Opens the models that the configuration names.

#[cfg(feature = "bedrock")]
mod bedrock;
mod dialect;
mod recording;
mod request_queue;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headstart_forked_query::{BackgroundModel, Model, ProviderRelation};
use headstart_providers::openai::StructuredOutput;
use headstart_providers::{
    ApiKey, HttpModel, KeyRequirement, PendingRetrySender, PrefixCachingModel, Priority, Provider as Service,
    RateLimiter, Recorder, Recording, Replay, RetryingModel, Scrubber, TextOnlyModel, TextTools, ToolRefusal,
    ToolRefusals, Wire, proxy_problem,
};

use crate::config::{self, Config};
use crate::environment::Environment;
use crate::error::CliError;
use crate::model_spec::{ModelSpec, Provider};
use crate::nearest::nearest;
use crate::output;
use crate::project_models;
use crate::secrets;
use recording::{RecordingFile, RecordingPath};
use request_queue::{QueuedModel, RequestQueue};

/// The models of one run of a command.
pub struct Models {
    /// The model for the conversation's own turns.
    pub(crate) main: Arc<dyn Model>,
    /// The provider's name of `main`.
    pub main_name: String,
    /// The model that suggests and speculates.
    pub background: BackgroundModel,
    /// Where `main` and `background` report that they wait.
    pub(crate) waits: (PendingRetrySender, PendingRetrySender),
    /// Whether the models accept images, according to the user.
    pub(crate) takes_images: bool,
    /// Which of the models refused tools.
    pub(crate) tool_refusals: Arc<ToolRefusals>,
    /// Whether the fast model may be asked for a title. A recording may not: its answers have a fixed order, and none
    /// of them is a title.
    pub(crate) titles: bool,
    keepers: Vec<Arc<PrefixCachingModel>>,
    recording_file: Option<RecordingFile>,
}

impl Models {
    /// The models that the configuration names. Their answers are recorded for the file `record`, if there is one.
    pub fn open(config: &Config, environment: &Environment, record: Option<&Path>) -> Result<Self, CliError> {
        let Some(main_spec) = &config.model else {
            return Err(CliError::NoModel { user_file: config::user_file(environment) });
        };
        if let Some(models) = &config.project_models {
            output::note(&project_models::note(models));
        }
        let place = record.map(RecordingPath::find).transpose()?;
        let is_recording = |spec: &ModelSpec| matches!(spec, ModelSpec::Replay(_) | ModelSpec::Demo);
        #[expect(clippy::float_cmp, reason = "1 is what it is where nobody says anything")]
        if config.speed != 1.0
            && !is_recording(main_spec)
            && !config.fast_model.as_ref().is_some_and(is_recording)
        {
            output::note(&format!("--speed changes nothing: {main_spec} is no recording (replay:FILE)"));
        }
        if !config.requests.cache_lifetime.is_zero() && main_spec.provider() != Some(Provider::Gemini) {
            output::note(&format!(
                "--cache-seconds changes nothing: only Gemini keeps prefixes by name, not {main_spec}"
            ));
        }
        let open = |spec| open(spec, main_spec, config, environment);
        let main_name = name(main_spec);
        let (main, keepers) = open(main_spec)?.with_cache_lifetime(config.requests.cache_lifetime)?;
        // A recording is played only once, so if both models are the same one, it is opened once.
        let fast_spec = config.fast_model.as_ref().filter(|fast| *fast != main_spec);
        let fast = fast_spec.map(open).transpose()?;
        let limiter = Arc::default();
        let waits = (PendingRetrySender::default(), PendingRetrySender::default());
        // A model without charge is limited by its machine. If both models are of that kind, the user's own turns share
        // the limit.
        let background_spec = config.fast_model.as_ref().unwrap_or(main_spec);
        let queue = config.is_free(background_spec).then(RequestQueue::new);
        let users_lane = queue.as_ref().filter(|_| config.is_free(main_spec));
        let foreground = main.with_priority(Priority::Foreground, users_lane, &limiter, &waits.0, config);
        let takes_images = takes_images(main_spec, config);
        let tool_refusals = Arc::default();
        let foreground = with_tools(foreground, main_spec, config, &tool_refusals);
        let ahead = |model: &OpenedModel, limiter, spec| {
            let model = model.with_priority(Priority::Background, queue.as_ref(), limiter, &waits.1, config);
            with_tools(model, spec, config, &tool_refusals)
        };
        let background = match fast_spec.zip(fast) {
            None => BackgroundModel::main(ahead(&main, &limiter, main_spec), &main_name),
            Some((spec, fast)) if spec.provider().is_some() && spec.provider() == main_spec.provider() => {
                BackgroundModel::fast(ahead(&fast, &limiter, spec), name(spec), ProviderRelation::Same)
            }
            Some((spec, fast)) => {
                // Another provider has limits of its own.
                BackgroundModel::fast(
                    ahead(&fast, &Arc::default(), spec),
                    name(spec),
                    ProviderRelation::Other,
                )
            }
        };
        // A fork contains the whole conversation as long as the conversation's own model can see it.
        let mut background = background;
        background.is_local = config.uses_local_model();
        background.limits.entries = config.fork_entries;
        background.limits.window_tokens = dialect::window(main_spec, config).map(u64::from);
        let models = Self {
            main: foreground,
            main_name,
            background,
            waits,
            takes_images,
            tool_refusals,
            titles: place.is_none() && !fast_spec.is_some_and(is_recording),
            keepers,
            recording_file: None,
        };
        Ok(match place {
            Some(place) => models.recorded(place, secrets::scrubber(environment)),
            None => models,
        })
    }

    /// Reports that `--cache-seconds` has no effect for a command without the user's own turns.
    pub fn note_no_turns(cache_seconds: Option<u32>, config: &Config) {
        let is_gemini = config.model.as_ref().and_then(ModelSpec::provider) == Some(Provider::Gemini);
        if is_gemini && cache_seconds.is_some_and(|seconds| 0 < seconds) {
            output::note("--cache-seconds changes nothing here: only the turns of a chat have a prefix kept");
        }
    }

    /// These models, with their answers recorded for this place.
    fn recorded(self, place: RecordingPath, secrets: Scrubber) -> Self {
        let start = Instant::now();
        let recorder =
            Recorder::new(self.main).with_secrets(secrets).with_clock(Arc::new(move || start.elapsed()));
        let model = Arc::new(recorder.for_model(Arc::clone(&self.background.model)));
        let background = BackgroundModel { model, ..self.background };
        let recorder = Arc::new(recorder);
        let recording_file = Some(RecordingFile::new(place, Arc::clone(&recorder)));
        Self { main: recorder, background, recording_file, ..self }
    }

    /// A recording for all tasks, with its delays divided by `speed`.
    pub fn of_recording(recording: Recording, speed: f64) -> Self {
        let sleep = Arc::new(move |time: Duration| Box::pin(tokio::time::sleep(time.div_f64(speed))) as _);
        Self::of_model(Arc::new(Replay::new(recording, sleep)))
    }

    /// A model for all tasks, without limits on its requests.
    pub fn of_model(main: Arc<dyn Model>) -> Self {
        let main_name = "recording".to_owned();
        let background = BackgroundModel::main(Arc::clone(&main), &main_name);
        let waits = (PendingRetrySender::default(), PendingRetrySender::default());
        let tool_refusals = Arc::default();
        Self {
            main,
            main_name,
            background,
            waits,
            takes_images: true,
            tool_refusals,
            titles: false,
            keepers: Vec::new(),
            recording_file: None,
        }
    }

    /// What the user must be told about models that refused tools, each only once.
    pub fn notices(&self) -> Vec<String> {
        refused_tools(&self.tool_refusals)
    }

    /// Like [`close`](Self::close), after the command has reported its result. An error of closing is reported too.
    pub async fn close_after<T>(&self, result: Result<T, CliError>) -> Result<T, CliError> {
        match (result, self.close().await) {
            (result, Ok(())) => result,
            (Ok(_), Err(error)) => Err(error),
            (Err(first), Err(error)) => {
                output::note(&format!("headstart: {error}"));
                Err(first)
            }
        }
    }

    /// Ends the models: writes the recording to the file of `--record`, if there is one, and removes what providers
    /// keep.
    pub async fn close(&self) -> Result<(), CliError> {
        let saved = self.recording_file.as_ref().map_or(Ok(()), RecordingFile::save);
        for keeper in &self.keepers {
            // What was not removed in time expires by itself.
            let _ = tokio::time::timeout(GOODBYE, keeper.close()).await;
        }
        saved
    }
}

/// The time limit for removing what providers keep, because that only saves a few seconds of storage.
const GOODBYE: Duration = Duration::from_secs(2);

/// An opened model, before its use is known.
enum OpenedModel {
    /// A recording, which has no limits.
    Replay(Arc<dyn Model>),
    /// A model of a provider.
    Remote(Box<HttpModel>),
    /// A model whose requests for the user's turns differ from those for work ahead.
    Apart { turns: Arc<dyn Model>, ahead: Arc<dyn Model> },
}

impl OpenedModel {
    /// Lets Gemini store the beginning of a conversation for `lifetime`. The user's own turns create and renew it,
    /// because storage costs money; work ahead only uses it.
    fn with_cache_lifetime(
        self,
        lifetime: Duration,
    ) -> Result<(Self, Vec<Arc<PrefixCachingModel>>), CliError> {
        match self {
            Self::Remote(model) if model.supports_prefix_caching() && !lifetime.is_zero() => {
                let keeper = Arc::new(PrefixCachingModel::new(*model, lifetime)?);
                let ahead = Arc::new(keeper.reader());
                Ok((Self::Apart { turns: Arc::clone(&keeper) as _, ahead }, vec![keeper]))
            }
            other => Ok((other, Vec::new())),
        }
    }

    fn with_priority(
        &self,
        priority: Priority,
        queue: Option<&Arc<RequestQueue>>,
        limiter: &Arc<RateLimiter>,
        waits: &PendingRetrySender,
        config: &Config,
    ) -> Arc<dyn Model> {
        let model = match (self, priority) {
            (Self::Replay(model), _) => return Arc::clone(model),
            (Self::Remote(model), _) => Arc::new((**model).clone()) as _,
            (Self::Apart { turns, .. }, Priority::Foreground) => Arc::clone(turns),
            (Self::Apart { ahead, .. }, Priority::Background) => Arc::clone(ahead),
        };
        let model = match queue {
            Some(queue) => Arc::new(QueuedModel::new(model, priority, queue)),
            None => model,
        };
        let retrying = RetryingModel::new(model, priority, Arc::clone(limiter));
        let retrying = retrying.with_policy(config.requests.retry_policy(priority));
        Arc::new(retrying.with_wait_reports(Arc::clone(waits)))
    }
}

/// The model with tools according to the user or as its server accepts them, and without images if it accepts none.
fn with_tools(
    model: Arc<dyn Model>,
    spec: &ModelSpec,
    config: &Config,
    refusals: &Arc<ToolRefusals>,
) -> Arc<dyn Model> {
    if spec.provider().is_none() {
        return model;
    }
    let support = config.per_model.get(&spec.to_string()).dialect.tools.unwrap_or_default();
    let model = Arc::new(TextTools::new(model, support, Arc::clone(refusals)));
    if takes_images(spec, config) { model } else { Arc::new(TextOnlyModel::new(model)) }
}

fn takes_images(spec: &ModelSpec, config: &Config) -> bool {
    config.per_model.get(&spec.to_string()).dialect.images.unwrap_or(true)
}

/// What the user must be told about models that refused tools, each only once.
pub(crate) fn refused_tools(refusals: &ToolRefusals) -> Vec<String> {
    let words = |refused: ToolRefusal| {
        let ToolRefusal { model, error } = refused;
        format!(
            "{error}. {model} is told of its tools in words from now on, and its calls are read out of its answers; tools = \"text\" in \
             [models.{model:?}] does so from the start, tools = \"none\" gives it none"
        )
    };
    refusals.take_new().into_iter().map(words).collect()
}

/// The provider's name of the model, or the file of a recording.
fn name(spec: &ModelSpec) -> String {
    match spec {
        ModelSpec::Replay(_) | ModelSpec::Demo => spec.to_string(),
        ModelSpec::Remote { name, .. } => name.clone(),
    }
}

fn open(
    spec: &ModelSpec,
    main: &ModelSpec,
    config: &Config,
    environment: &Environment,
) -> Result<OpenedModel, CliError> {
    match spec {
        ModelSpec::Replay(file) => replay(file, config.speed).map(OpenedModel::Replay),
        ModelSpec::Demo => Err(CliError::DemoModel {
            problem: "answers in `headstart chat` only, as the model of a sample project",
        }),
        ModelSpec::Remote { provider, .. } => {
            let base_url = own_base_url(*provider, main, config.base_url.as_deref());
            let variable = |name: &str| Some(environment.get(name)?.to_string_lossy().into_owned());
            if let Some((variable, message)) = proxy_problem(&service(*provider, base_url).base_url, variable)
            {
                return Err(CliError::Environment { variable: variable.to_owned(), message });
            }
            remote(spec, *provider, base_url, config, environment).map(Box::new).map(OpenedModel::Remote)
        }
    }
}

/// The address of a model; `None` for a recording.
pub(crate) fn address(spec: &ModelSpec, main: &ModelSpec, base_url: Option<&str>) -> Option<String> {
    let provider = spec.provider()?;
    Some(service(provider, own_base_url(provider, main, base_url)).base_url)
}

/// The base URL, if it applies to this provider. It belongs to the main model's server, and another provider's key must
/// not be sent there.
fn own_base_url<'a>(provider: Provider, main: &ModelSpec, base_url: Option<&'a str>) -> Option<&'a str> {
    base_url.filter(|_| Some(provider) == main.provider())
}

fn replay(file: &Path, speed: f64) -> Result<Arc<dyn Model>, CliError> {
    let text = fs::read_to_string(file).map_err(|error| {
        // The bundled recording is no file, so its name may have been mistyped.
        let is_demo = file.to_str().is_some_and(|name| nearest(name, ["demo"]).is_some());
        if is_demo && error.kind() == io::ErrorKind::NotFound {
            let message =
                format!("there is no file {} (the bundled recording is replay:demo)", file.display());
            return CliError::ModelSpec { message };
        }
        CliError::io("read", file)(error)
    })?;
    let recording =
        Recording::parse(&text).map_err(|source| CliError::Recording { file: file.to_owned(), source })?;
    let sleep = Arc::new(move |time: Duration| Box::pin(tokio::time::sleep(time.div_f64(speed))) as _);
    Ok(Arc::new(Replay::new(recording, sleep)))
}

fn remote(
    spec: &ModelSpec,
    provider: Provider,
    base_url: Option<&str>,
    config: &Config,
    environment: &Environment,
) -> Result<HttpModel, CliError> {
    #[cfg(feature = "bedrock")]
    if provider == Provider::Bedrock {
        return bedrock::open(spec, base_url, config, environment);
    }
    let mut service = service(provider, base_url);
    if config.runs_here(spec) {
        ask_for_schema(&mut service.wire);
    }
    let service = dialect::with_dialect(service, spec, config, environment)?;
    let key = key(&service, environment)?;
    if key.is_none() && service.key == KeyRequirement::Required {
        return Err(CliError::NoKey { model: spec.to_string(), variable: service.key_variable });
    }
    let more = dialect::thinking(spec, config);
    Ok(HttpModel::new(service, key, config.requests.timeouts)?.with_fields(more).with_call_fragments())
}

/// The key of a provider, from its variable or from another variable that people use for it.
fn key(service: &Service, environment: &Environment) -> Result<Option<ApiKey>, CliError> {
    let other = (service.key_variable == "GEMINI_API_KEY").then_some("GOOGLE_API_KEY");
    for variable in [Some(service.key_variable.as_str()), other].into_iter().flatten() {
        if let Some(key) = environment.text(variable)? {
            return Ok(Some(ApiKey::new(key)));
        }
    }
    Ok(None)
}

/// Has a server on this machine hold its model to the form of an answer: small models rarely keep to it by themselves.
/// Elsewhere the schema would be read before the conversation, which would not be in the cache then. A server that refuses
/// it is told of the form in words.
fn ask_for_schema(wire: &mut Wire) {
    match wire {
        Wire::Chat(options) => options.structured_output = StructuredOutput::JsonSchema,
        Wire::Ollama(options) => options.structured_output = StructuredOutput::JsonSchema,
        _ => {}
    }
}

/// The address of a provider and the wire format to use.
fn service(provider: Provider, base_url: Option<&str>) -> Service {
    let preset = match provider {
        Provider::Anthropic => Service::anthropic(),
        Provider::Gemini => Service::gemini(),
        Provider::OpenAi => Service::openai(),
        Provider::Responses => Service::responses(),
        Provider::DashScope => Service::dashscope(),
        Provider::Ollama => Service::ollama(),
        // Each region has another address. This one is only used to find out whether the model runs on this machine.
        #[cfg(feature = "bedrock")]
        Provider::Bedrock => Service::bedrock("us-east-1"),
    };
    match base_url {
        None => preset,
        Some(url) => preset.served_at(url),
    }
}

#[cfg(test)]
mod tests;
