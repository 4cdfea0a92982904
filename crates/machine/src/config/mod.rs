//! The configuration: what the user's file, the project's file, the environment and the command line say, each
//! overriding the one before it.
//!
//! A project's file comes with a repository that may be hostile, so it can only make things stricter: it adds deny
//! rules and policies that stop, lowers the approval mode and the limits, turns background work off, and may propose
//! another model of the provider that the user has chosen. A line that would do more is an error.

mod budget;
mod choices;
mod counts;
mod dialect;
mod file;
mod index;
mod intel;
mod limits;
mod per_model;
mod prices;
mod project;
mod requests;
mod rule_files;
mod screen;
mod shadow;
mod source;
mod steering_variables;
mod tool_servers;
mod tools;
mod web;

use std::path::{Path, PathBuf};

use headstart_agent::{AfterDecline, Matching};
use headstart_budget::policy::Policy;
use headstart_context::Window;
use headstart_followup_state::MAX_CANDIDATES;
use headstart_forked_query::ForkLimits;
use headstart_speculation::{AtBoundary, Limits, Staging};
use headstart_tool_gate::{
    AheadWrites, ApprovalMode, DenyRule, DenyRules, GateContext, Policies, PolicyOrigin, ToolPolicies,
};

pub use self::budget::{LedgerDetail, mode_name as background_name, parse_mode as parse_background};
pub use self::choices::{MODES, TabKey, parse_base_url, parse_mode};
pub use self::dialect::{Dialect, HeaderText, Thinking};
pub use self::index::{Embeddings, IndexConfig, Rerank};
pub use self::intel::{IntelConfig, IntelMode};
pub use self::per_model::SettingsByModel;
pub use self::project::ProjectModels;
pub use self::requests::Requests;
pub use self::rule_files::RuleFiles;
pub use self::screen::{ScreenConfig, StatusPart};
pub use self::shadow::{CheckSetting, ShadowConfig};
use self::source::Owner;
pub use self::tool_servers::ExternalTools;
#[cfg(feature = "mcp")]
pub use self::tool_servers::{
    EnvValue, HttpToolSetting, OAuthSetting, ServerSetting, Transport, TrustSetting,
};
#[cfg(feature = "mcp")]
pub(crate) use self::web::SearchSetting;
pub(crate) use self::web::WebConfig;
use crate::declarations::declarations;
use crate::environment::Environment;
use crate::error::CliError;
use crate::model_spec::ModelSpec;

/// The project's own file, below the workspace.
pub const PROJECT_FILE: &str = ".headstart/config.toml";

/// What flags say about the configuration.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    pub model: Option<ModelSpec>,
    pub fast_model: Option<ModelSpec>,
    pub base_url: Option<String>,
    pub mode: Option<ApprovalMode>,
    /// How many times faster a recording is played.
    pub speed: Option<f64>,
    /// For how long Gemini caches the beginning of a conversation under a name.
    pub cache_seconds: Option<u32>,
    /// Whether the chat is shown as lines for a screen reader.
    pub screen_reader: bool,
}

/// The configuration in force.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own, of that name in the files")]
pub struct Config {
    /// The model of the conversation.
    pub model: Option<ModelSpec>,
    /// The model of every background task; `None`: the same as `model`.
    pub fast_model: Option<ModelSpec>,
    /// The models that the project's file chooses in place of the user's.
    pub project_models: Option<ProjectModels>,
    /// The address of `model`'s server, which also serves `fast_model` if it has the same provider.
    pub base_url: Option<String>,
    pub mode: ApprovalMode,
    /// The rules of all files together.
    pub deny: Vec<DenyRule>,
    /// Whether files are denied whose names suggest that they hold a secret.
    pub deny_defaults: bool,
    /// The policies of all files together.
    pub policies: Policies,
    /// What all files say about single tools.
    pub tool_policies: ToolPolicies,
    /// Tool servers, and tools behind addresses.
    pub external_tools: ExternalTools,
    /// Whether the project's rules are read.
    pub rules: bool,
    /// Whether conversations are kept so that they can be resumed.
    pub sessions: bool,
    pub suggestions: bool,
    pub speculation: bool,
    /// What accepting a suggestion does with work that stopped at a call that needs consent.
    pub at_boundary: AtBoundary,
    /// What happens to edits of work ahead in a mode that asks before edits.
    pub ahead_writes: AheadWrites,
    /// What happens to a turn whose user has declined a call.
    pub after_decline: AfterDecline,
    /// Whether turns of the user are staged, and written after one question.
    pub staging: Staging,
    /// What the Tab key does with a suggestion.
    pub tab: TabKey,
    pub matching: Matching,
    /// What a chat looks like in a terminal.
    pub screen: ScreenConfig,
    /// How many suggestions are requested at a time.
    pub candidates: usize,
    /// How many entries of the conversation are sent to a separate model for background work.
    pub fork_entries: usize,
    /// How full the model's window must be, in percent, before a conversation is compacted.
    pub compact_at: usize,
    pub limits: Limits,
    /// Whether background work is done, and what it may cost.
    pub background: Policy,
    /// What the user says about single models.
    pub per_model: SettingsByModel,
    /// What the ledger keeps about background work.
    pub ledger: LedgerDetail,
    /// What is indexed of a project.
    pub index: IndexConfig,
    /// Which language servers run.
    pub intel: IntelConfig,
    /// How many times faster a recording is played.
    pub speed: f64,
    pub requests: Requests,
    pub shadow: ShadowConfig,
    pub web: WebConfig,
}

impl Config {
    /// The configuration for a workspace.
    pub(crate) fn load(environment: &Environment, flags: &Flags, workspace: &Path) -> Result<Self, CliError> {
        let nearest = flags.clone().or_environment(environment)?;
        let mut config = Self::of_user(environment)?;
        project::apply(&mut config, &nearest, &workspace.join(PROJECT_FILE))?;
        config.screen.apply_variable(environment)?;
        config.under(nearest).with_switches(environment)
    }

    /// The context from which the gate decides in this workspace.
    pub fn gate_context(&self, workspace: String) -> Result<GateContext, CliError> {
        let deny = DenyRules::new(self.deny.iter().cloned())
            .map_err(|error| CliError::Unavailable(error.to_string()))?;
        let deny = if self.deny_defaults { deny } else { deny.with_secrets_open() };
        Ok(GateContext {
            mode: self.mode,
            ahead_writes: self.ahead_writes,
            views: self.shadow.enabled,
            workspace,
            deny,
            tools: declarations(),
            policies: self.policies.clone(),
            tool_policies: self.tool_policies.clone(),
        })
    }

    /// The defaults, overridden by the user's file.
    fn of_user(environment: &Environment) -> Result<Self, CliError> {
        let mut config = Self::default();
        let Some(path) = user_file(environment) else { return Ok(config) };
        let Some(file) = file::read(&path, Owner::User)? else { return Ok(config) };
        tracing::debug!(path = %path.display(), "the user's configuration is read");
        let source = file.source();
        let folder = path.parent().unwrap_or(Path::new("/"));
        config.model = file.model()?.map(|spec| relative_to(folder, spec.value));
        config.fast_model = file.fast_model()?.map(|spec| relative_to(folder, spec.value));
        config.base_url = file.base_url()?.map(|url| url.value);
        config.mode = file.mode()?.map_or(config.mode, |mode| mode.value);
        config.deny = file.deny()?;
        config.deny_defaults = file.deny_defaults().is_none_or(|defaults| defaults.value);
        config.policies = Policies::new(file.policies(), []).map_err(|error| file.refuse_policy(&error))?;
        let others = &mut config.external_tools;
        tool_servers::apply(others, file.mcp(), file.http_tools(), source, PolicyOrigin::User)?;
        config.tool_policies = tools::of_user(file.tools(), source, &others.http_names())?;
        config.rules = file.rules().unwrap_or(config.rules);
        config.sessions = file.sessions().map_or(config.sessions, |sessions| sessions.value);
        config.suggestions = file.suggestions().unwrap_or(config.suggestions);
        config.speculation = file.speculation().unwrap_or(config.speculation);
        config.at_boundary = file.at_boundary()?.map_or(config.at_boundary, |choice| choice.value);
        config.ahead_writes = file.ahead_writes()?.map_or(config.ahead_writes, |choice| choice.value);
        config.staging = file.staging()?.map_or(config.staging, |choice| choice.value);
        config.after_decline = file.after_decline()?.map_or(config.after_decline, |choice| choice.value);
        config.tab = file.tab()?.map_or(config.tab, |choice| choice.value);
        config.matching = file.matching()?.map_or(config.matching, |choice| choice.value);
        config.screen.apply_users(&file)?;
        for (field, value) in file.counts()? {
            *field.of(&mut config) = value.value;
        }
        config.background.mode = file.background()?.map_or(config.background.mode, |mode| mode.value);
        config.ledger = file.ledger()?.map_or(config.ledger, |keep| keep.value);
        budget::apply_users(&mut config.background, file.budget(), source)?;
        index::apply(&mut config.index, file.index(), source, false)?;
        intel::apply_users(&mut config.intel, file.intel(), source)?;
        shadow::apply_users(&mut config.shadow, file.shadow(), source)?;
        web::apply_users(&mut config.web, file.web(), source)?;
        per_model::refuse_old_prices(file.old_prices(), source)?;
        config.per_model = per_model::of_user(file.models(), source)?;
        for (limit, value) in file.limits()? {
            limit.set(&mut config.limits, value.value);
        }
        for (field, value) in file.requests()? {
            field.set(&mut config.requests, value.value);
        }
        Ok(config)
    }

    fn under(mut self, nearest: Flags) -> Self {
        self.model = nearest.model.or(self.model);
        self.fast_model = nearest.fast_model.or(self.fast_model);
        self.base_url = nearest.base_url.or(self.base_url);
        self.mode = nearest.mode.unwrap_or(self.mode);
        self.speed = nearest.speed.unwrap_or(self.speed);
        if nearest.screen_reader {
            self.screen.read_aloud = Some("--screen-reader".to_owned());
        }
        if let Some(seconds) = nearest.cache_seconds {
            self.requests.cache_lifetime = std::time::Duration::from_secs(u64::from(seconds));
        }
        self
    }

    fn with_switches(mut self, environment: &Environment) -> Result<Self, CliError> {
        self.rules = environment.switch("HEADSTART_RULES")?.unwrap_or(self.rules);
        self.sessions = environment.switch("HEADSTART_SESSIONS")?.unwrap_or(self.sessions);
        self.suggestions = environment.switch("HEADSTART_SUGGEST")?.unwrap_or(self.suggestions);
        self.speculation = environment.switch("HEADSTART_SPECULATE")?.unwrap_or(self.speculation);
        shadow::apply_variable(&mut self.shadow, environment)?;
        if environment.switch("HEADSTART_CODE_INTEL")? == Some(false) {
            self.intel.mode = Some(IntelMode::Off);
        }
        if let Some(mode) = variable(environment, "HEADSTART_BACKGROUND", parse_background)? {
            self.background.mode = mode;
        }
        Ok(self)
    }

    /// The name of the model for background work, as the user writes it; empty if there is no model.
    pub fn background_model(&self) -> String {
        self.fast_model.as_ref().or(self.model.as_ref()).map(ToString::to_string).unwrap_or_default()
    }

    /// The name of the conversation's model, as the user writes it; empty if there is no model.
    pub fn main_model(&self) -> String {
        self.model.as_ref().map(ToString::to_string).unwrap_or_default()
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            model: None,
            fast_model: None,
            project_models: None,
            base_url: None,
            mode: ApprovalMode::Default,
            deny: Vec::new(),
            deny_defaults: true,
            policies: Policies::default(),
            tool_policies: ToolPolicies::default(),
            external_tools: ExternalTools::default(),
            rules: true,
            sessions: true,
            suggestions: true,
            speculation: true,
            at_boundary: AtBoundary::default(),
            ahead_writes: AheadWrites::Ask,
            after_decline: AfterDecline::Continue,
            staging: Staging::Auto,
            tab: TabKey::default(),
            matching: Matching::default(),
            screen: ScreenConfig::default(),
            candidates: MAX_CANDIDATES,
            fork_entries: ForkLimits::default().entries,
            compact_at: usize::from(Window::default().compact_at),
            limits: Limits::default(),
            background: Policy::default(),
            per_model: SettingsByModel::default(),
            ledger: LedgerDetail::default(),
            index: IndexConfig::default(),
            intel: IntelConfig::default(),
            speed: 1.0,
            requests: Requests::default(),
            shadow: ShadowConfig::default(),
            web: WebConfig::default(),
        }
    }
}

impl Flags {
    /// Fills in from the environment what no flag has set.
    pub fn or_environment(mut self, environment: &Environment) -> Result<Self, CliError> {
        self.model = match self.model {
            Some(spec) => Some(spec),
            None => variable(environment, "HEADSTART_MODEL", str::parse)?,
        };
        self.fast_model = match self.fast_model {
            Some(spec) => Some(spec),
            None => variable(environment, "HEADSTART_FAST_MODEL", str::parse)?,
        };
        self.base_url = match self.base_url {
            Some(url) => Some(url),
            None => variable(environment, "HEADSTART_BASE_URL", parse_base_url)?,
        };
        self.mode = match self.mode {
            Some(mode) => Some(mode),
            None => variable(environment, "HEADSTART_MODE", parse_mode)?,
        };
        Ok(self)
    }
}

/// The path of the user's own file, if there is a folder for it.
pub fn user_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.xdg("XDG_CONFIG_HOME", ".config")?.join("config.toml"))
}

fn variable<T, E: std::fmt::Display>(
    environment: &Environment,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, CliError> {
    let refused = |error: E| CliError::Environment { variable: name.to_owned(), message: error.to_string() };
    environment.text(name)?.map(|value| parse(value).map_err(refused)).transpose()
}

/// Resolves a recording that a file names relative to the folder of that file.
fn relative_to(folder: &Path, spec: ModelSpec) -> ModelSpec {
    match spec {
        ModelSpec::Replay(file) => ModelSpec::Replay(folder.join(file)),
        other @ (ModelSpec::Remote { .. } | ModelSpec::Demo) => other,
    }
}

#[cfg(test)]
mod tests;
