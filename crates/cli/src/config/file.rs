use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use headstart_agent::AfterDecline;
use headstart_budget::policy::Mode;
use headstart_speculation::AtBoundary;
use headstart_tool_gate::{AheadWrites, ApprovalMode, DenyRule, DenyRules, GateError, PolicyRule};
use serde::Deserialize;
use toml::Spanned;

use super::budget::{self, BudgetTable, Keep};
use super::index::IndexTable;
use super::intel::IntelTable;
use super::limits::LimitField;
use super::per_model::ModelTable;
use super::requests::RequestField;
use super::several::SeveralField;
use super::shadow::ShadowTable;
use super::tool_servers::Tables;
use super::tools::ToolsTable;
use super::web::WebTable;
use super::{
    TabKey, parse_after_decline, parse_ahead_writes, parse_at_boundary, parse_base_url, parse_mode, parse_tab,
};
use crate::error::CliError;
use crate::model_spec::ModelSpec;
use crate::terminal::{DiffForm, Markdown, ThemeChoice};

/// A configuration file is small; a larger one is a mistake or an attack.
const MAX_BYTES: u64 = 1024 * 1024;

/// A configuration file as it stands, with the places of its fields.
pub(super) struct File {
    path: PathBuf,
    text: String,
    fields: Fields,
}

/// A value and the line it stands on.
pub(super) struct Placed<T> {
    pub(super) value: T,
    pub(super) line: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Fields {
    model: Option<Spanned<String>>,
    fast_model: Option<Spanned<String>>,
    base_url: Option<Spanned<String>>,
    mode: Option<Spanned<String>>,
    deny: Vec<Spanned<String>>,
    deny_defaults: Option<Spanned<bool>>,
    policy: Vec<Spanned<PolicyRule>>,
    rules: Option<bool>,
    sessions: Option<bool>,
    suggestions: Option<bool>,
    speculation: Option<bool>,
    at_boundary: Option<Spanned<String>>,
    ahead_writes: Option<Spanned<String>>,
    after_decline: Option<Spanned<String>>,
    tab: Option<Spanned<String>>,
    markdown: Option<Spanned<String>>,
    theme: Option<Spanned<String>>,
    diff: Option<Spanned<String>>,
    editing: Option<Spanned<String>>,
    notify: Option<Spanned<bool>>,
    title: Option<Spanned<bool>>,
    screen_reader: Option<Spanned<bool>>,
    status: Option<Spanned<Vec<Spanned<String>>>>,
    keys: BTreeMap<String, Spanned<Vec<Spanned<String>>>>,
    candidates: Option<Spanned<usize>>,
    parallel: Option<Spanned<usize>>,
    fork_entries: Option<Spanned<usize>>,
    compact_at: Option<Spanned<usize>>,
    background: Option<Spanned<String>>,
    ledger: Option<Spanned<String>>,
    limits: LimitFields,
    budget: BudgetTable,
    models: ModelTable,
    prices: BTreeMap<String, Spanned<toml::Value>>,
    requests: RequestFields,
    #[serde(rename = "code-index")]
    index: IndexTable,
    #[serde(rename = "code-intel")]
    intel: IntelTable,
    shadow: ShadowTable,
    tools: ToolsTable,
    mcp: Tables,
    http_tool: Tables,
    web: WebTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RequestFields {
    retries: Option<Spanned<u32>>,
    connect_seconds: Option<Spanned<u32>>,
    first_byte_seconds: Option<Spanned<u32>>,
    idle_seconds: Option<Spanned<u32>>,
    stalled_seconds: Option<Spanned<u32>>,
    cache_seconds: Option<Spanned<u32>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LimitFields {
    turns: Option<Spanned<u32>>,
    messages: Option<Spanned<u32>>,
    tokens: Option<Spanned<u32>>,
    staged_files: Option<Spanned<u32>>,
    staged_bytes: Option<Spanned<u64>>,
    staged_file_bytes: Option<Spanned<u64>>,
    staged_depth: Option<Spanned<u32>>,
    time_seconds: Option<Spanned<u32>>,
    depth: Option<Spanned<u32>>,
    command_seconds: Option<Spanned<u32>>,
}

/// The file at `path`; `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<File>, CliError> {
    let Some(text) = read_text(path)? else { return Ok(None) };
    let fields = toml::from_str(&text).map_err(|error| CliError::Configuration {
        file: path.to_owned(),
        line: error.span().map_or(1, |span| line_of(&text, span.start)),
        message: describe(&text, &error),
    })?;
    Ok(Some(File { path: path.to_owned(), text, fields }))
}

impl File {
    pub(super) fn model(&self) -> Result<Option<Placed<ModelSpec>>, CliError> {
        self.parsed("model", self.fields.model.as_ref(), str::parse)
    }

    pub(super) fn fast_model(&self) -> Result<Option<Placed<ModelSpec>>, CliError> {
        self.parsed("fast_model", self.fields.fast_model.as_ref(), str::parse)
    }

    pub(super) fn base_url(&self) -> Result<Option<Placed<String>>, CliError> {
        self.parsed("base_url", self.fields.base_url.as_ref(), parse_base_url)
    }

    pub(super) fn mode(&self) -> Result<Option<Placed<ApprovalMode>>, CliError> {
        self.parsed("mode", self.fields.mode.as_ref(), parse_mode)
    }

    pub(super) fn deny(&self) -> Result<Vec<DenyRule>, CliError> {
        let mut rules = Vec::new();
        for pattern in &self.fields.deny {
            rules.extend(self.parsed("deny", Some(pattern), parse_deny_rule)?.map(|rule| rule.value));
        }
        Ok(rules)
    }

    pub(super) fn deny_defaults(&self) -> Option<Placed<bool>> {
        let value = self.fields.deny_defaults.as_ref()?;
        Some(Placed { value: *value.get_ref(), line: line_of(&self.text, value.span().start) })
    }

    pub(super) fn policies(&self) -> impl Iterator<Item = PolicyRule> {
        self.fields.policy.iter().map(|policy| policy.get_ref().clone())
    }

    /// The error of a policy of this file, or of none that has a place.
    pub(super) fn refuse_policy(&self, error: &GateError) -> CliError {
        let GateError::Policy { index, field, problem, .. } = error else {
            return self.refuse(1, "policy", error);
        };
        let line = self.fields.policy.get(*index).map_or(1, |policy| self.line(&policy.span()));
        self.refuse(line, &format!("policy {}.{field}", index + 1), problem)
    }

    pub(super) fn sessions(&self) -> Option<bool> {
        self.fields.sessions
    }

    pub(super) fn rules(&self) -> Option<bool> {
        self.fields.rules
    }

    pub(super) fn suggestions(&self) -> Option<bool> {
        self.fields.suggestions
    }

    pub(super) fn speculation(&self) -> Option<bool> {
        self.fields.speculation
    }

    pub(super) fn at_boundary(&self) -> Result<Option<Placed<AtBoundary>>, CliError> {
        self.parsed("at_boundary", self.fields.at_boundary.as_ref(), parse_at_boundary)
    }

    pub(super) fn after_decline(&self) -> Result<Option<Placed<AfterDecline>>, CliError> {
        self.parsed("after_decline", self.fields.after_decline.as_ref(), parse_after_decline)
    }

    pub(super) fn ahead_writes(&self) -> Result<Option<Placed<AheadWrites>>, CliError> {
        self.parsed("ahead_writes", self.fields.ahead_writes.as_ref(), parse_ahead_writes)
    }

    pub(super) fn tab(&self) -> Result<Option<Placed<TabKey>>, CliError> {
        self.parsed("tab", self.fields.tab.as_ref(), parse_tab)
    }

    pub(super) fn markdown(&self) -> Result<Option<Placed<Markdown>>, CliError> {
        self.parsed("markdown", self.fields.markdown.as_ref(), Markdown::parse)
    }

    pub(super) fn theme(&self) -> Result<Option<Placed<ThemeChoice>>, CliError> {
        self.parsed("theme", self.fields.theme.as_ref(), ThemeChoice::parse)
    }

    pub(super) fn diff(&self) -> Result<Option<Placed<DiffForm>>, CliError> {
        self.parsed("diff", self.fields.diff.as_ref(), DiffForm::parse)
    }

    /// Whether the prompt has the modes of vi.
    pub(super) fn vi(&self) -> Result<Option<Placed<bool>>, CliError> {
        self.parsed("editing", self.fields.editing.as_ref(), |name| match name {
            "emacs" => Ok(false),
            "vi" => Ok(true),
            _ => Err(format!("{name:?} is none of emacs and vi")),
        })
    }

    /// The switches of the screen, by their names.
    pub(super) fn screen_switches(&self) -> [(&'static str, Option<&Spanned<bool>>); 3] {
        let Fields { notify, title, screen_reader, .. } = &self.fields;
        [("notify", notify.as_ref()), ("title", title.as_ref()), ("screen_reader", screen_reader.as_ref())]
    }

    pub(super) fn status(&self) -> Option<&Spanned<Vec<Spanned<String>>>> {
        self.fields.status.as_ref()
    }

    pub(super) fn keys(&self) -> &BTreeMap<String, Spanned<Vec<Spanned<String>>>> {
        &self.fields.keys
    }

    pub(super) fn several(&self) -> Result<Vec<(SeveralField, Placed<usize>)>, CliError> {
        let all = [
            (SeveralField::Candidates, &self.fields.candidates),
            (SeveralField::Parallel, &self.fields.parallel),
            (SeveralField::ForkEntries, &self.fields.fork_entries),
            (SeveralField::CompactAt, &self.fields.compact_at),
        ];
        let mut several = Vec::new();
        for (field, value) in all {
            let Some(value) = value else { continue };
            let line = self.line(&value.span());
            let range = field.range();
            if !range.contains(value.get_ref()) {
                let problem = format!("must be from {} to {}", range.start(), range.end());
                return Err(self.refuse(line, field.name(), problem));
            }
            several.push((field, Placed { value: *value.get_ref(), line }));
        }
        Ok(several)
    }

    pub(super) fn background(&self) -> Result<Option<Placed<Mode>>, CliError> {
        self.parsed("background", self.fields.background.as_ref(), budget::parse_mode)
    }

    pub(super) fn ledger(&self) -> Result<Option<Placed<Keep>>, CliError> {
        self.parsed("ledger", self.fields.ledger.as_ref(), budget::parse_keep)
    }

    pub(super) fn budget(&self) -> &BudgetTable {
        &self.fields.budget
    }

    pub(super) fn index(&self) -> &IndexTable {
        &self.fields.index
    }

    pub(super) fn intel(&self) -> &IntelTable {
        &self.fields.intel
    }

    pub(super) fn tools(&self) -> &ToolsTable {
        &self.fields.tools
    }

    pub(super) fn mcp(&self) -> &Tables {
        &self.fields.mcp
    }

    pub(super) fn web(&self) -> &WebTable {
        &self.fields.web
    }

    pub(super) fn http_tools(&self) -> &Tables {
        &self.fields.http_tool
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn shadow(&self) -> &ShadowTable {
        &self.fields.shadow
    }

    pub(super) fn models(&self) -> &ModelTable {
        &self.fields.models
    }

    /// Where earlier versions had what models cost.
    pub(super) fn old_prices(&self) -> &BTreeMap<String, Spanned<toml::Value>> {
        &self.fields.prices
    }

    pub(super) fn limits(&self) -> Result<Vec<(LimitField, Placed<u64>)>, CliError> {
        let fields = &self.fields.limits;
        let narrow = |value: &Option<Spanned<u32>>| {
            value.as_ref().map(|value| (value.span(), u64::from(*value.get_ref())))
        };
        let wide =
            |value: &Option<Spanned<u64>>| value.as_ref().map(|value| (value.span(), *value.get_ref()));
        let all = [
            (LimitField::Turns, narrow(&fields.turns)),
            (LimitField::Messages, narrow(&fields.messages)),
            (LimitField::Tokens, narrow(&fields.tokens)),
            (LimitField::StagedFiles, narrow(&fields.staged_files)),
            (LimitField::StagedBytes, wide(&fields.staged_bytes)),
            (LimitField::StagedFileBytes, wide(&fields.staged_file_bytes)),
            (LimitField::StagedDepth, narrow(&fields.staged_depth)),
            (LimitField::TimeSeconds, narrow(&fields.time_seconds)),
            (LimitField::Depth, narrow(&fields.depth)),
            (LimitField::CommandSeconds, narrow(&fields.command_seconds)),
        ];
        let mut limits = Vec::new();
        for (limit, value) in all {
            let Some((span, value)) = value else { continue };
            let line = self.line(&span);
            if value < 1 {
                return Err(self.refuse(line, limit.name(), "must be at least 1"));
            }
            limits.push((limit, Placed { value, line }));
        }
        Ok(limits)
    }

    pub(super) fn requests(&self) -> Result<Vec<(RequestField, Placed<u32>)>, CliError> {
        let fields = &self.fields.requests;
        let all = [
            (RequestField::Retries, &fields.retries),
            (RequestField::ConnectSeconds, &fields.connect_seconds),
            (RequestField::FirstByteSeconds, &fields.first_byte_seconds),
            (RequestField::IdleSeconds, &fields.idle_seconds),
            (RequestField::StalledSeconds, &fields.stalled_seconds),
            (RequestField::CacheSeconds, &fields.cache_seconds),
        ];
        let mut settings = Vec::new();
        for (field, value) in all {
            let Some(value) = value else { continue };
            let line = self.line(&value.span());
            if *value.get_ref() < field.least() {
                return Err(self.refuse(line, field.name(), "must be at least 1"));
            }
            settings.push((field, Placed { value: *value.get_ref(), line }));
        }
        Ok(settings)
    }

    /// The error that a field of this file deserves.
    /// The folder that it is in: where the files are that it names.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.path.parent()
    }

    pub(super) fn refuse(&self, line: usize, field: &str, problem: impl std::fmt::Display) -> CliError {
        CliError::Configuration { file: self.path.clone(), line, message: format!("{field}: {problem}") }
    }

    fn parsed<T, E: std::fmt::Display>(
        &self,
        field: &str,
        value: Option<&Spanned<String>>,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<Placed<T>>, CliError> {
        let Some(value) = value else { return Ok(None) };
        let line = self.line(&value.span());
        let parsed = parse(value.get_ref()).map_err(|error| self.refuse(line, field, error))?;
        Ok(Some(Placed { value: parsed, line }))
    }

    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        line_of(&self.text, span.start)
    }
}

/// The gate's own rules say what a pattern is; it refuses those that would take back what another file denies.
fn parse_deny_rule(pattern: &str) -> Result<DenyRule, GateError> {
    DenyRules::from_patterns([pattern])?;
    Ok(DenyRule(pattern.to_owned()))
}

/// A repository could put a FIFO, a device or a gigabyte where a file is expected.
fn read_text(path: &Path) -> Result<Option<String>, CliError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return match dangling_link(path) {
                // Its rules are somewhere, and would silently be gone.
                Some(link) => {
                    let message =
                        format!("{} is a link that leads nowhere; mend or remove it", link.display());
                    Err(CliError::ConfigurationFile { file: path.to_owned(), message })
                }
                None => Ok(None),
            };
        }
        Err(error) => return Err(CliError::io("read", path)(error)),
    };
    let refused =
        |message: &str| CliError::ConfigurationFile { file: path.to_owned(), message: message.into() };
    if !metadata.is_file() {
        return Err(refused("is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(CliError::io("read", path))?;
    if MAX_BYTES < bytes.len() as u64 {
        return Err(refused("is larger than 1 MiB"));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| refused("is not UTF-8"))
}

/// The link because of which there is nothing at `path`: the file itself, or a folder above it.
fn dangling_link(path: &Path) -> Option<&Path> {
    let there = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    fs::metadata(there).is_err().then_some(there)
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// The parser's words, and the line they are about, which names the field.
fn describe(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().trim_end().replace('\n', ", ");
    let line = error.span().and_then(|span| text.lines().nth(line_of(text, span.start) - 1));
    match line.map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => format!("{message}, in `{line}`"),
        None => message,
    }
}
