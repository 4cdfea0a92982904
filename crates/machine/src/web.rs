//! The tools of the web that a conversation has.

use std::sync::Arc;

use headstart_tool_servers::{SearchConfig, SearchRequest, fetch_url_tool, search_web_tool};
use headstart_toolbox::Tool;

use crate::config::{SearchSetting, WebConfig};
use crate::environment::Environment;
use crate::output;

/// The tools `fetch_url`, and `search_web` if the user names a service. A service without its key is not offered, and
/// the user is told.
pub(crate) fn tools(config: &WebConfig, environment: &Environment) -> Vec<Arc<dyn Tool>> {
    let search = config.search.as_ref().and_then(|setting| match search(setting, environment) {
        Ok(tool) => Some(tool),
        Err(why) => {
            output::note(&format!("search_web is not offered: {why}"));
            None
        }
    });
    std::iter::once(fetch_url_tool(config.http)).chain(search).collect()
}

fn search(setting: &SearchSetting, environment: &Environment) -> Result<Arc<dyn Tool>, String> {
    let mut headers = Vec::new();
    if let Some(variable) = &setting.key_env {
        let key = environment.text(variable).map_err(|error| error.to_string())?;
        let key = key.ok_or_else(|| {
            format!("the variable {variable} is not set, which web.search.key_env in your file names")
        })?;
        headers.push(match &setting.key_header {
            Some(header) => (header.clone(), key.to_owned()),
            None => ("authorization".to_owned(), format!("Bearer {key}")),
        });
    }
    search_web_tool(SearchConfig {
        url: setting.url.clone(),
        request: setting.body.clone().map_or(SearchRequest::Get, SearchRequest::Post),
        headers,
        results: setting.results.clone(),
        title: setting.title.clone(),
        link: setting.link.clone(),
        text: setting.text.clone(),
    })
}
