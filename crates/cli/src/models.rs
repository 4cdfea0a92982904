//! From what the configuration says to models that answer.

#[cfg(feature = "bedrock")]
mod bedrock;
mod dialect;
mod one_at_a_time;
mod tape;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headstart_forked_query::{BackgroundModel, Model, ProviderRelation};
use headstart_providers::{
    ApiKey, HttpModel, KeyNeed, Limiter, PrefixKeeper, Priority, Provider as Service, Recorder, Recording,
    RefusedTools, Replay, RetryingModel, Scrubber, TextTools, ToolRefusals, Waits, WithoutImages,
};

use crate::config::{self, Config};
use crate::environment::Environment;
use crate::error::CliError;
use crate::model_spec::{ModelSpec, Provider};
use crate::output;
use crate::secrets;
use one_at_a_time::{Lane, OneAtATime};
use tape::{Place, Tape};

/// The models of one run of a command.
pub(crate) struct Models {
    /// Answers the conversation's own turns.
    pub(crate) main: Arc<dyn Model>,
    /// What the provider calls it.
    pub(crate) main_name: String,
    /// Suggests and speculates.
    pub(crate) background: BackgroundModel,
    /// Where `main` says that it waits, and where `background` does.
    pub(crate) waits: (Waits, Waits),
    /// Whether they take images, as far as the user says.
    pub(crate) takes_images: bool,
    /// Which of them refused tools.
    pub(crate) tool_refusals: Arc<ToolRefusals>,
    /// Whether the fast one may be asked for a title: a recording answers in the order in which it was recorded, and has none.
    pub(crate) titles: bool,
    keepers: Vec<Arc<PrefixKeeper>>,
    tape: Option<Tape>,
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
        let place = record.map(Place::find).transpose()?;
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
        let (main, keepers) = open(main_spec)?.keeping(config.requests.cache_lifetime)?;
        // One recording is played once, whoever asks.
        let fast_spec = config.fast_model.as_ref().filter(|fast| *fast != main_spec);
        let fast = fast_spec.map(open).transpose()?;
        let limiter = Arc::default();
        let waits = (Waits::default(), Waits::default());
        // What costs nothing is limited by its machine; the user's own turns share it where both models are of that kind.
        let background_spec = config.fast_model.as_ref().unwrap_or(main_spec);
        let lane = config.is_free(background_spec).then(Lane::new);
        let users_lane = lane.as_ref().filter(|_| config.is_free(main_spec));
        let foreground = main.asked_by(Priority::Foreground, users_lane, &limiter, &waits.0, config);
        let takes_images = takes_images(main_spec, config);
        let tool_refusals = Arc::default();
        let foreground = with_tools(foreground, main_spec, config, &tool_refusals);
        let ahead = |model: &Opened, limiter, spec| {
            let model = model.asked_by(Priority::Background, lane.as_ref(), limiter, &waits.1, config);
            with_tools(model, spec, config, &tool_refusals)
        };
        let background = match fast_spec.zip(fast) {
            None => BackgroundModel::main(ahead(&main, &limiter, main_spec), &main_name),
            Some((spec, fast)) if spec.provider().is_some() && spec.provider() == main_spec.provider() => {
                BackgroundModel::fast(ahead(&fast, &limiter, spec), name(spec), ProviderRelation::Same)
            }
            Some((spec, fast)) => {
                // Another provider counts for itself.
                BackgroundModel::fast(
                    ahead(&fast, &Arc::default(), spec),
                    name(spec),
                    ProviderRelation::Other,
                )
            }
        };
        // A fork is the whole conversation as long as the conversation's own model can see it.
        let mut background = background;
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
            tape: None,
        };
        Ok(match place {
            Some(place) => models.recorded(place, secrets::scrubber(environment)),
            None => models,
        })
    }

    /// Says that `--cache-seconds` changes nothing for a command without turns of the user's own.
    pub(crate) fn note_no_turns(cache_seconds: Option<u32>, config: &Config) {
        let is_gemini = config.model.as_ref().and_then(ModelSpec::provider) == Some(Provider::Gemini);
        if is_gemini && cache_seconds.is_some_and(|seconds| 0 < seconds) {
            output::note("--cache-seconds changes nothing here: only the turns of a chat have a prefix kept");
        }
    }

    /// The same models; what they say is kept for this place.
    fn recorded(self, place: Place, secrets: Scrubber) -> Self {
        let start = Instant::now();
        let recorder =
            Recorder::new(self.main).with_secrets(secrets).with_clock(Arc::new(move || start.elapsed()));
        let model = Arc::new(recorder.beside(Arc::clone(&self.background.model)));
        let background = BackgroundModel { model, ..self.background };
        let recorder = Arc::new(recorder);
        let tape = Some(Tape::new(place, Arc::clone(&recorder)));
        Self { main: recorder, background, tape, ..self }
    }

    /// A recording for every task, its delays divided by `speed`.
    pub(crate) fn of_recording(recording: Recording, speed: f64) -> Self {
        let sleep = Arc::new(move |time: Duration| Box::pin(tokio::time::sleep(time.div_f64(speed))) as _);
        Self::of_model(Arc::new(Replay::new(recording, sleep)))
    }

    /// A model that waits for nobody, for every task.
    pub(crate) fn of_model(main: Arc<dyn Model>) -> Self {
        let main_name = "recording".to_owned();
        let background = BackgroundModel::main(Arc::clone(&main), &main_name);
        let waits = (Waits::default(), Waits::default());
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
            tape: None,
        }
    }

    /// What the user has to be told of models that refused tools, each once.
    pub(crate) fn notices(&self) -> Vec<String> {
        refused_tools(&self.tool_refusals)
    }

    /// As [`close`](Self::close), after the command has told what came out: an error of its own is told as well.
    pub(crate) async fn close_after<T>(&self, told: Result<T, CliError>) -> Result<T, CliError> {
        match (told, self.close().await) {
            (told, Ok(())) => told,
            (Ok(_), Err(error)) => Err(error),
            (Err(told), Err(error)) => {
                output::note(&format!("headstart: {error}"));
                Err(told)
            }
        }
    }

    /// Ends what was begun for a while: writes what was said to the file of `--record`, if there is one, and removes what a
    /// provider keeps.
    pub(crate) async fn close(&self) -> Result<(), CliError> {
        let saved = self.tape.as_ref().map_or(Ok(()), Tape::save);
        for keeper in &self.keepers {
            // What is not gone by then goes when its time is over.
            let _ = tokio::time::timeout(GOODBYE, keeper.close()).await;
        }
        saved
    }
}

/// The model of background work alone, for a question that belongs to no conversation, and whether it is on this machine. There is none
/// where none is named, and where it is a recording, which answers only what it was asked.
pub(crate) fn aside(
    config: &Config,
    environment: &Environment,
) -> Result<Option<(BackgroundModel, bool)>, CliError> {
    let main = config.model.as_ref();
    let Some((main, spec)) = main.map(|main| (main, config.fast_model.as_ref().unwrap_or(main))) else {
        return Ok(None);
    };
    if spec.provider().is_none() {
        return Ok(None);
    }
    let opened = open(spec, main, config, environment)?;
    let is_here = matches!(&opened, Opened::Remote(model) if model.is_on_this_machine());
    let model = opened.asked_by(Priority::Background, None, &Arc::default(), &Waits::default(), config);
    Ok(Some((BackgroundModel::main(model, name(spec)), is_here)))
}

/// Nobody waits longer for what only saves a few seconds of storage.
const GOODBYE: Duration = Duration::from_secs(2);

/// A model before it is known who asks it.
enum Opened {
    /// It has nothing to wait for.
    Replay(Arc<dyn Model>),
    /// One of a provider.
    Remote(Box<HttpModel>),
    /// One whose turns are asked in another way than work that runs ahead.
    Apart { turns: Arc<dyn Model>, ahead: Arc<dyn Model> },
}

impl Opened {
    /// Has Gemini keep the beginning of a conversation for so long: turns of the user's own make and renew it, for it is paid for;
    /// work ahead of them uses what is there.
    fn keeping(self, lifetime: Duration) -> Result<(Self, Vec<Arc<PrefixKeeper>>), CliError> {
        match self {
            Self::Remote(model) if model.can_keep_prefixes() && !lifetime.is_zero() => {
                let keeper = Arc::new(PrefixKeeper::new(*model, lifetime)?);
                let ahead = Arc::new(keeper.reader());
                Ok((Self::Apart { turns: Arc::clone(&keeper) as _, ahead }, vec![keeper]))
            }
            other => Ok((other, Vec::new())),
        }
    }

    fn asked_by(
        &self,
        priority: Priority,
        lane: Option<&Arc<Lane>>,
        limiter: &Arc<Limiter>,
        waits: &Waits,
        config: &Config,
    ) -> Arc<dyn Model> {
        let model = match (self, priority) {
            (Self::Replay(model), _) => return Arc::clone(model),
            (Self::Remote(model), _) => Arc::new((**model).clone()) as _,
            (Self::Apart { turns, .. }, Priority::Foreground) => Arc::clone(turns),
            (Self::Apart { ahead, .. }, Priority::Background) => Arc::clone(ahead),
        };
        let model = match lane {
            Some(lane) => Arc::new(OneAtATime::new(model, priority, lane)),
            None => model,
        };
        let retrying = RetryingModel::new(model, priority, Arc::clone(limiter));
        let retrying = retrying.with_policy(config.requests.retry_policy(priority));
        Arc::new(retrying.with_waits(Arc::clone(waits)))
    }
}

/// The model with tools as its user says, or as its server takes them, and without images where it takes none.
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
    if takes_images(spec, config) { model } else { Arc::new(WithoutImages::new(model)) }
}

fn takes_images(spec: &ModelSpec, config: &Config) -> bool {
    config.per_model.get(&spec.to_string()).dialect.images.unwrap_or(true)
}

/// What the user has to be told of models that refused tools, each once.
pub(crate) fn refused_tools(refusals: &ToolRefusals) -> Vec<String> {
    let words = |refused: RefusedTools| {
        let RefusedTools { model, error } = refused;
        format!(
            "{error}. {model} is told of its tools in words from now on, and its calls are read out of its answers; tools = \"text\" in \
             [models.{model:?}] does so from the start, tools = \"none\" gives it none"
        )
    };
    refusals.take_new().into_iter().map(words).collect()
}

/// What the provider calls the model; a recording is called after its file.
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
) -> Result<Opened, CliError> {
    match spec {
        ModelSpec::Replay(file) => replay(file, config.speed).map(Opened::Replay),
        ModelSpec::Demo => Err(CliError::DemoModel {
            problem: "answers in `headstart chat` only, as the model of a sample project",
        }),
        ModelSpec::Remote { provider, .. } => {
            let base_url = own_base_url(*provider, main, config.base_url.as_deref());
            remote(spec, *provider, base_url, config, environment).map(Box::new).map(Opened::Remote)
        }
    }
}

/// Where a model is asked; nowhere for a recording.
pub(crate) fn address(spec: &ModelSpec, main: &ModelSpec, base_url: Option<&str>) -> Option<String> {
    let provider = spec.provider()?;
    Some(service(provider, own_base_url(provider, main, base_url)).base_url)
}

/// The base URL is that of the main model's server; another provider's key must not be sent there.
fn own_base_url<'a>(provider: Provider, main: &ModelSpec, base_url: Option<&'a str>) -> Option<&'a str> {
    base_url.filter(|_| Some(provider) == main.provider())
}

fn replay(file: &Path, speed: f64) -> Result<Arc<dyn Model>, CliError> {
    let text = fs::read_to_string(file).map_err(CliError::io("read", file))?;
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
    let service = dialect::spoken(service(provider, base_url), spec, config, environment)?;
    let key = key(&service, environment)?;
    if key.is_none() && service.key == KeyNeed::Required {
        return Err(CliError::NoKey { model: spec.to_string(), variable: service.key_variable });
    }
    let more = dialect::thinking(spec, config);
    Ok(HttpModel::new(service, key, config.requests.timeouts)?.with_fields(more).telling_fragments())
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
        // Each region has an address; all that is asked of this one is whether it is on this machine.
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
