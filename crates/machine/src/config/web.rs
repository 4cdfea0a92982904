//! What the user's file says about the web: `[web]`.

use serde::Deserialize;
use toml::Spanned;
use url::Url;

use super::source::Source;
use super::tool_servers::is_this_machine;
use crate::error::CliError;

/// How pages on the web are fetched and searched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WebConfig {
    /// Whether pages without encryption are fetched.
    pub(crate) http: bool,
    pub(crate) search: Option<SearchSetting>,
}

/// A search service.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SearchSetting {
    pub(crate) url: String,
    /// The variable that holds the key.
    pub(crate) key_env: Option<String>,
    /// The header that holds nothing but the key; by default the key is sent as a bearer token.
    pub(crate) key_header: Option<String>,
    pub(crate) body: Option<serde_json::Value>,
    pub(crate) results: String,
    pub(crate) title: String,
    pub(crate) link: String,
    pub(crate) text: String,
}

/// The table as it is written in a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WebTable {
    http: Option<Spanned<bool>>,
    search: Option<Spanned<SearchTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchTable {
    url: Spanned<String>,
    key_env: Option<Spanned<String>>,
    key_header: Option<Spanned<String>>,
    body: Option<Spanned<toml::Table>>,
    results: Spanned<String>,
    title: Option<Spanned<String>>,
    link: Option<Spanned<String>>,
    text: Option<Spanned<String>>,
}

/// Applies what the user's file says.
pub(super) fn apply_users(web: &mut WebConfig, table: &WebTable, source: &Source) -> Result<(), CliError> {
    web.http = table.http.as_ref().is_some_and(|http| *http.get_ref());
    web.search = table.search.as_ref().map(|search| setting(search.get_ref(), source)).transpose()?;
    Ok(())
}

/// Refuses these fields in a project's file, because queries to the web leave the machine.
pub(super) fn refuse_projects(table: &WebTable, source: &Source) -> Result<(), CliError> {
    let http = table.http.as_ref().map(|http| ("web.http", http.span()));
    let search = table.search.as_ref().map(|search| ("web.search", search.span()));
    match http.or(search) {
        None => Ok(()),
        Some((field, span)) => {
            let problem = "a project cannot say how the web is reached; set it in your own file";
            Err(source.refuse(source.line(&span), field, problem))
        }
    }
}

fn setting(table: &SearchTable, source: &Source) -> Result<SearchSetting, CliError> {
    let refuse = |field: &str, span: std::ops::Range<usize>, problem: &str| {
        source.refuse(source.line(&span), &format!("web.search.{field}"), problem)
    };
    let url = table.url.get_ref();
    let of_url = |problem: &str| refuse("url", table.url.span(), problem);
    let address = Url::parse(&url.replace("{query}", "x"))
        .map_err(|error| of_url(&format!("{url:?} is no address: {error}")))?;
    if !matches!(address.scheme(), "https" | "http") {
        return Err(of_url("must begin with https:// (or http://)"));
    }
    if !address.username().is_empty() || address.password().is_some() {
        return Err(of_url("holds a name or a password; name a variable in key_env"));
    }
    if table.key_env.is_some() && address.scheme() != "https" && !is_this_machine(&address) {
        return Err(of_url("the key would go over the network for all to read; use https"));
    }
    let body = match &table.body {
        None => None,
        Some(body) => Some(
            serde_json::to_value(body.get_ref())
                .map_err(|error| refuse("body", body.span(), &format!("is no JSON: {error}")))?,
        ),
    };
    if !url.contains("{query}") && !body.as_ref().is_some_and(|body| body.to_string().contains("{query}")) {
        return Err(of_url("needs {query} where the words go; or name it in body, which is then sent"));
    }
    if let Some(variable) = &table.key_env
        && (variable.get_ref().is_empty() || variable.get_ref().contains(['=', ' ', '\0']))
    {
        let problem = "is the name of an environment variable, not a key";
        return Err(refuse("key_env", variable.span(), problem));
    }
    if let Some(header) = &table.key_header {
        let is_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '-';
        if header.get_ref().is_empty() || !header.get_ref().chars().all(is_name) {
            return Err(refuse("key_header", header.span(), "is the name of a header"));
        }
        if table.key_env.is_none() {
            return Err(refuse("key_header", header.span(), "needs key_env, the variable with the key"));
        }
    }
    let pointer = |field: &str, value: Option<&Spanned<String>>, otherwise: &str| match value {
        None => Ok(otherwise.to_owned()),
        Some(value) if value.get_ref().is_empty() || value.get_ref().starts_with('/') => {
            Ok(value.get_ref().clone())
        }
        Some(value) => {
            let problem = "is a JSON pointer, such as /web/results";
            Err(refuse(field, value.span(), problem))
        }
    };
    let name = |value: &Option<Spanned<String>>| value.as_ref().map(|value| value.get_ref().clone());
    Ok(SearchSetting {
        url: url.clone(),
        key_env: name(&table.key_env),
        key_header: name(&table.key_header),
        body,
        results: pointer("results", Some(&table.results), "")?,
        title: pointer("title", table.title.as_ref(), "/title")?,
        link: pointer("link", table.link.as_ref(), "/url")?,
        text: pointer("text", table.text.as_ref(), "/description")?,
    })
}
