use serde::Deserialize;
use toml::Spanned;

use super::choices::parse_base_url;
use super::source::Source;
use crate::error::CliError;

/// What `[code-index]` says about the index of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexConfig {
    /// Whether there is an index.
    pub enabled: bool,
    /// Whether past commits are part of the index.
    pub history: bool,
    /// How large the database of the index may get, in bytes.
    pub max_bytes: u64,
    /// The model that makes vectors of the index's chunks; by default there is none.
    pub embeddings: Option<Embeddings>,
    /// The model that ranks what was found; by default there is none.
    pub rerank: Option<Rerank>,
}

/// A model that makes vectors of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Embeddings {
    /// `openai:NAME`, or any server with OpenAI's interface at `url`.
    OpenAi { name: String, url: Option<String> },
    /// `ollama:NAME`.
    Ollama { name: String, url: Option<String> },
}

/// A model that ranks passages, on a server with `/rerank`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerank {
    pub(crate) name: String,
    pub(crate) url: String,
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self { enabled: true, history: true, max_bytes: 512 << 20, embeddings: None, rerank: None }
    }
}

/// The table as it is written in a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct IndexTable {
    enabled: Option<Spanned<bool>>,
    history: Option<Spanned<bool>>,
    max_bytes: Option<Spanned<u64>>,
    embeddings: Option<Spanned<String>>,
    embeddings_url: Option<Spanned<String>>,
    rerank: Option<Spanned<String>>,
    rerank_url: Option<Spanned<String>>,
}

const MIN_BYTES: u64 = 1 << 20;

/// Applies what a file says. A project's file can only have less indexed than its user wants, and cannot send its text
/// anywhere.
pub(super) fn apply(
    index: &mut IndexConfig,
    table: &IndexTable,
    source: &Source,
    of_project: bool,
) -> Result<(), CliError> {
    for (name, value, setting) in [
        ("code-index.enabled", &table.enabled, &mut index.enabled),
        ("code-index.history", &table.history, &mut index.history),
    ] {
        let Some(value) = value else { continue };
        if of_project && !*setting && *value.get_ref() {
            let problem = "a project can only turn this off, and you have";
            return Err(source.refuse(source.line(&value.span()), name, problem));
        }
        *setting = *value.get_ref();
    }
    if let Some(value) = &table.max_bytes {
        let refused =
            |problem: String| source.refuse(source.line(&value.span()), "code-index.max_bytes", problem);
        if *value.get_ref() < MIN_BYTES {
            return Err(refused(format!("must be at least {MIN_BYTES}")));
        }
        if of_project && index.max_bytes < *value.get_ref() {
            return Err(refused(format!("a project can only lower this, and yours is {}", index.max_bytes)));
        }
        index.max_bytes = *value.get_ref();
    }
    if of_project {
        return refuse_models(source, table);
    }
    index.embeddings = embeddings(source, table)?;
    index.rerank = rerank(source, table)?;
    Ok(())
}

fn refuse_models(source: &Source, table: &IndexTable) -> Result<(), CliError> {
    for (name, value) in [
        ("code-index.embeddings", &table.embeddings),
        ("code-index.embeddings_url", &table.embeddings_url),
        ("code-index.rerank", &table.rerank),
        ("code-index.rerank_url", &table.rerank_url),
    ] {
        if let Some(value) = value {
            let problem = "a project cannot choose where its text is sent; set it in your own file";
            return Err(source.refuse(source.line(&value.span()), name, problem));
        }
    }
    Ok(())
}

fn embeddings(source: &Source, table: &IndexTable) -> Result<Option<Embeddings>, CliError> {
    let url = url(source, "code-index.embeddings_url", table.embeddings_url.as_ref())?;
    let Some(value) = &table.embeddings else {
        return no_model_at(source, table.embeddings_url.as_ref(), "embeddings").map(|()| None);
    };
    let refused =
        |problem: String| source.refuse(source.line(&value.span()), "code-index.embeddings", problem);
    let text = value.get_ref().as_str();
    let (kind, name) = text.split_once(':').unwrap_or((text, ""));
    if name.trim().is_empty() {
        return Err(refused(format!("{text:?} names no model; use openai:NAME or ollama:NAME")));
    }
    let name_owned = name.to_owned();
    match kind {
        "openai" => Ok(Some(Embeddings::OpenAi { name: name_owned, url })),
        "ollama" => Ok(Some(Embeddings::Ollama { name: name_owned, url })),
        _ => Err(refused(format!("{text:?}: use openai:NAME or ollama:NAME"))),
    }
}

fn rerank(source: &Source, table: &IndexTable) -> Result<Option<Rerank>, CliError> {
    let url = url(source, "code-index.rerank_url", table.rerank_url.as_ref())?;
    let Some(value) = &table.rerank else {
        return no_model_at(source, table.rerank_url.as_ref(), "rerank").map(|()| None);
    };
    let refused = |problem: &str| source.refuse(source.line(&value.span()), "code-index.rerank", problem);
    if value.get_ref().trim().is_empty() {
        return Err(refused("names no model"));
    }
    let url = url.ok_or_else(|| refused("needs rerank_url, the address that /rerank follows"))?;
    Ok(Some(Rerank { name: value.get_ref().clone(), url }))
}

/// Refuses an address without a model, because an address alone has no effect.
fn no_model_at(source: &Source, url: Option<&Spanned<String>>, model: &str) -> Result<(), CliError> {
    let Some(url) = url else { return Ok(()) };
    let problem = format!("needs code-index.{model}, the model that is asked there");
    Err(source.refuse(source.line(&url.span()), &format!("code-index.{model}_url"), problem))
}

fn url(source: &Source, field: &str, value: Option<&Spanned<String>>) -> Result<Option<String>, CliError> {
    let Some(value) = value else { return Ok(None) };
    let parsed = parse_base_url(value.get_ref());
    parsed.map(Some).map_err(|problem| source.refuse(source.line(&value.span()), field, problem))
}
