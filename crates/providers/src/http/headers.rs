use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::Provider;

/// What the client itself has to say of a request.
const OWN: [&str; 6] =
    ["accept", "connection", "content-length", "content-type", "host", "transfer-encoding"];

/// The headers that the host adds. The values are never printed, as the key is not.
pub(super) fn of(provider: &Provider) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for header in &provider.headers {
        let shown = header.name.escape_debug();
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let name = name.map_err(|_| format!("\"{shown}\" is no name of a header"))?;
        if OWN.contains(&name.as_str()) {
            return Err(format!("the header {name} is the client's own; leave it out"));
        }
        let value = HeaderValue::from_str(&header.value);
        let mut value = value
            .map_err(|_| format!("the value of the header {name} holds characters that none may hold"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
