use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::config_problem::ConfigProblem;
use crate::Provider;

/// Headers that the client sets itself.
const OWN: [&str; 6] =
    ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding"];

/// The headers that the host adds. Like the key, their values are never printed.
pub(super) fn of(provider: &Provider) -> Result<HeaderMap, ConfigProblem> {
    let mut headers = HeaderMap::new();
    for header in &provider.headers {
        let shown = header.name.escape_debug();
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let name =
            name.map_err(|error| ConfigProblem::new(format!("\"{shown}\" is no name of a header"), error))?;
        if OWN.contains(&name.as_str()) {
            return Err(format!("the header {name} is the client's own; leave it out").into());
        }
        let value = HeaderValue::from_str(&header.value);
        let mut value = value.map_err(|error| {
            ConfigProblem::new(
                format!("the value of the header {name} holds characters that none may hold"),
                error,
            )
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
