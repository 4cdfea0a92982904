use std::collections::BTreeMap;
use std::path::Path;

use headstart_agent::{AfterDecline, Matching};
use headstart_budget::policy::Mode;
use headstart_speculation::{AtBoundary, Staging};
use headstart_tool_gate::{AheadWrites, ApprovalMode, DenyRule, DenyRules, GateError, PolicyRule};
use serde::Deserialize;
use toml::Spanned;

use super::budget::{self, BudgetTable, LedgerDetail};
use super::choices::{
    TabKey, parse_after_decline, parse_ahead_writes, parse_at_boundary, parse_base_url, parse_match,
    parse_mode, parse_staging, parse_tab,
};
use super::counts::CountField;
use super::index::IndexTable;
use super::intel::IntelTable;
use super::limits::LimitField;
use super::per_model::ModelTable;
use super::requests::RequestField;
use super::shadow::ShadowTable;
use super::source::{Located, Owner, Source};
use super::tool_servers::Tables;
use super::tools::ToolsTable;
use super::web::WebTable;
use crate::error::CliError;
use crate::model_spec::ModelSpec;
use headstart_terminal::{DiffForm, Markdown, ThemeChoice};

/// The most deny rules of a file: to compile many thousands takes minutes, and each command would wait for it.
const MAX_DENY_RULES: usize = 1_000;

/// A configuration file as it is written, with the positions of its fields.
pub(super) struct File {
    source: Source,
    fields: Fields,
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
    sessions: Option<Spanned<bool>>,
    suggestions: Option<bool>,
    speculation: Option<bool>,
    at_boundary: Option<Spanned<String>>,
    ahead_writes: Option<Spanned<String>>,
    after_decline: Option<Spanned<String>>,
    staging: Option<Spanned<String>>,
    tab: Option<Spanned<String>>,
    r#match: Option<Spanned<String>>,
    markdown: Option<Spanned<String>>,
    theme: Option<Spanned<String>>,
    diff: Option<Spanned<String>>,
    editing: Option<Spanned<String>>,
    notify: Option<Spanned<bool>>,
    title: Option<Spanned<bool>>,
    animations: Option<Spanned<bool>>,
    screen_reader: Option<Spanned<bool>>,
    status: Option<Spanned<Vec<Spanned<String>>>>,
    keys: BTreeMap<String, Spanned<Vec<Spanned<String>>>>,
    candidates: Option<Spanned<usize>>,
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
    command_seconds: Option<Spanned<u32>>,
}

/// Reads the file at `path`; `None` if there is no file.
pub(super) fn read(path: &Path, owner: Owner) -> Result<Option<File>, CliError> {
    let Some(source) = Source::read(path, owner)? else { return Ok(None) };
    let fields = source.fields()?;
    Ok(Some(File { source, fields }))
}

impl File {
    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn model(&self) -> Result<Option<Located<ModelSpec>>, CliError> {
        self.source.parsed("model", self.fields.model.as_ref(), str::parse)
    }

    pub(super) fn fast_model(&self) -> Result<Option<Located<ModelSpec>>, CliError> {
        self.source.parsed("fast_model", self.fields.fast_model.as_ref(), str::parse)
    }

    pub(super) fn base_url(&self) -> Result<Option<Located<String>>, CliError> {
        self.source.parsed("base_url", self.fields.base_url.as_ref(), parse_base_url)
    }

    pub(super) fn mode(&self) -> Result<Option<Located<ApprovalMode>>, CliError> {
        self.source.parsed("mode", self.fields.mode.as_ref(), parse_mode)
    }

    pub(super) fn deny(&self) -> Result<Vec<DenyRule>, CliError> {
        let mut rules = Vec::new();
        if let Some(first) = self.fields.deny.get(MAX_DENY_RULES) {
            let problem =
                format!("there are more than {MAX_DENY_RULES} patterns; one of a folder covers all below it");
            return Err(self.source.refuse(self.source.line(&first.span()), "deny", problem));
        }
        for pattern in &self.fields.deny {
            rules.extend(self.source.parsed("deny", Some(pattern), parse_deny_rule)?.map(|rule| rule.value));
        }
        Ok(rules)
    }

    pub(super) fn deny_defaults(&self) -> Option<Located<bool>> {
        let value = self.fields.deny_defaults.as_ref()?;
        Some(Located { value: *value.get_ref(), line: self.source.line(&value.span()) })
    }

    pub(super) fn policies(&self) -> impl Iterator<Item = PolicyRule> {
        self.fields.policy.iter().map(|policy| policy.get_ref().clone())
    }

    /// The error about a policy of this file, or about the file as a whole if the error belongs to no single policy.
    pub(super) fn refuse_policy(&self, error: &GateError) -> CliError {
        let GateError::Policy { index, field, problem, .. } = error else {
            return self.source.refuse(1, "policy", error);
        };
        let line = self.fields.policy.get(*index).map_or(1, |policy| self.source.line(&policy.span()));
        self.source.refuse(line, &format!("policy {}.{field}", index + 1), problem)
    }

    pub(super) fn sessions(&self) -> Option<Located<bool>> {
        let value = self.fields.sessions.as_ref()?;
        Some(Located { value: *value.get_ref(), line: self.source.line(&value.span()) })
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

    pub(super) fn at_boundary(&self) -> Result<Option<Located<AtBoundary>>, CliError> {
        self.source.parsed("at_boundary", self.fields.at_boundary.as_ref(), parse_at_boundary)
    }

    pub(super) fn after_decline(&self) -> Result<Option<Located<AfterDecline>>, CliError> {
        self.source.parsed("after_decline", self.fields.after_decline.as_ref(), parse_after_decline)
    }

    pub(super) fn staging(&self) -> Result<Option<Located<Staging>>, CliError> {
        self.source.parsed("staging", self.fields.staging.as_ref(), parse_staging)
    }

    pub(super) fn ahead_writes(&self) -> Result<Option<Located<AheadWrites>>, CliError> {
        self.source.parsed("ahead_writes", self.fields.ahead_writes.as_ref(), parse_ahead_writes)
    }

    pub(super) fn matching(&self) -> Result<Option<Located<Matching>>, CliError> {
        self.source.parsed("match", self.fields.r#match.as_ref(), parse_match)
    }

    pub(super) fn tab(&self) -> Result<Option<Located<TabKey>>, CliError> {
        self.source.parsed("tab", self.fields.tab.as_ref(), parse_tab)
    }

    pub(super) fn markdown(&self) -> Result<Option<Located<Markdown>>, CliError> {
        self.source.parsed("markdown", self.fields.markdown.as_ref(), Markdown::parse)
    }

    pub(super) fn theme(&self) -> Result<Option<Located<ThemeChoice>>, CliError> {
        self.source.parsed("theme", self.fields.theme.as_ref(), ThemeChoice::parse)
    }

    pub(super) fn diff(&self) -> Result<Option<Located<DiffForm>>, CliError> {
        self.source.parsed("diff", self.fields.diff.as_ref(), DiffForm::parse)
    }

    /// Whether the prompt is edited with the modes of vi.
    pub(super) fn vi(&self) -> Result<Option<Located<bool>>, CliError> {
        self.source.parsed("editing", self.fields.editing.as_ref(), |name| match name {
            "emacs" => Ok(false),
            "vi" => Ok(true),
            _ => Err(format!("{name:?} is none of emacs and vi")),
        })
    }

    /// The switches of the screen, by their names.
    pub(super) fn screen_switches(&self) -> [(&'static str, Option<&Spanned<bool>>); 4] {
        let Fields { notify, title, animations, screen_reader, .. } = &self.fields;
        [
            ("notify", notify.as_ref()),
            ("title", title.as_ref()),
            ("animations", animations.as_ref()),
            ("screen_reader", screen_reader.as_ref()),
        ]
    }

    pub(super) fn status(&self) -> Option<&Spanned<Vec<Spanned<String>>>> {
        self.fields.status.as_ref()
    }

    pub(super) fn keys(&self) -> &BTreeMap<String, Spanned<Vec<Spanned<String>>>> {
        &self.fields.keys
    }

    pub(super) fn counts(&self) -> Result<Vec<(CountField, Located<usize>)>, CliError> {
        let all = [
            (CountField::Candidates, &self.fields.candidates),
            (CountField::ForkEntries, &self.fields.fork_entries),
            (CountField::CompactAt, &self.fields.compact_at),
        ];
        let mut several = Vec::new();
        for (field, value) in all {
            let Some(value) = value else { continue };
            let line = self.source.line(&value.span());
            let range = field.range();
            if !range.contains(value.get_ref()) {
                let problem = format!("must be from {} to {}", range.start(), range.end());
                return Err(self.source.refuse(line, field.name(), problem));
            }
            several.push((field, Located { value: *value.get_ref(), line }));
        }
        Ok(several)
    }

    pub(super) fn background(&self) -> Result<Option<Located<Mode>>, CliError> {
        self.source.parsed("background", self.fields.background.as_ref(), budget::parse_mode)
    }

    pub(super) fn ledger(&self) -> Result<Option<Located<LedgerDetail>>, CliError> {
        self.source.parsed("ledger", self.fields.ledger.as_ref(), budget::parse_ledger_detail)
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

    pub(super) fn shadow(&self) -> &ShadowTable {
        &self.fields.shadow
    }

    pub(super) fn models(&self) -> &ModelTable {
        &self.fields.models
    }

    /// The table in which earlier versions kept the prices of models.
    pub(super) fn old_prices(&self) -> &BTreeMap<String, Spanned<toml::Value>> {
        &self.fields.prices
    }

    pub(super) fn limits(&self) -> Result<Vec<(LimitField, Located<u64>)>, CliError> {
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
            (LimitField::CommandSeconds, narrow(&fields.command_seconds)),
        ];
        let mut limits = Vec::new();
        for (limit, value) in all {
            let Some((span, value)) = value else { continue };
            let line = self.source.line(&span);
            if value < 1 {
                return Err(self.source.refuse(line, limit.name(), "must be at least 1"));
            }
            limits.push((limit, Located { value, line }));
        }
        Ok(limits)
    }

    pub(super) fn requests(&self) -> Result<Vec<(RequestField, Located<u32>)>, CliError> {
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
            let line = self.source.line(&value.span());
            if *value.get_ref() < field.least() {
                return Err(self.source.refuse(line, field.name(), "must be at least 1"));
            }
            settings.push((field, Located { value: *value.get_ref(), line }));
        }
        Ok(settings)
    }
}

/// Reads a pattern. The gate decides what a pattern is, and it refuses patterns that would take back what another file
/// denies.
fn parse_deny_rule(pattern: &str) -> Result<DenyRule, GateError> {
    DenyRules::from_patterns([pattern])?;
    Ok(DenyRule(pattern.to_owned()))
}
