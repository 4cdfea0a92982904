use reqwest::Url;

use super::config_problem::ConfigProblem;
use crate::Provider;
use crate::provider_error::shorten;

/// The base URL without what the wire format adds or what people copy along with it. Its query stays, because some
/// services expect the version of their interface there.
pub(super) fn base_url(provider: &Provider) -> Result<Url, ConfigProblem> {
    let base = &provider.base_url;
    let shown = shorten(&without_secrets(base));
    let wrong = |why: &str| format!("the base URL {shown:?} {why}; it looks like https://HOST/v1");
    let mut url = Url::parse(base.trim())
        .map_err(|error| ConfigProblem::new(wrong(&format!("is not valid ({error})")), error))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("is neither http nor https").into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the base URL holds a user name or password; they belong in the key".into());
    }
    if url.fragment().is_some() {
        return Err("the base URL has a fragment (what follows #); leave it out".into());
    }
    let mut path = url.path().trim_end_matches('/');
    for ending in provider.wire.base_url_endings() {
        path = path.trim_end_matches(ending);
    }
    let path = path.to_owned();
    url.set_path(&path);
    Ok(url)
}

/// An address without user, password and query, for messages. It need not be a valid one.
fn without_secrets(base: &str) -> String {
    let plain = base.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = plain.split_once("://").map_or(("", plain), |(scheme, rest)| (scheme, rest));
    let (authority, path) = rest.split_once('/').map_or((rest, None), |(host, path)| (host, Some(path)));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    format!("{scheme}{host}{}", path.map(|path| format!("/{path}")).unwrap_or_default())
}

/// The URL of a request to this model.
pub(super) fn request_url(base: &Url, provider: &Provider, model: &str) -> Url {
    let mut url = base.clone();
    let path = format!("{}{}", base.path().trim_end_matches('/'), provider.wire.path(model));
    // Setting a path escapes characters that do not belong into one, such as a question mark in the name of a model.
    url.set_path(&path);
    let query = match (base.query().unwrap_or_default(), provider.wire.query()) {
        ("", own) => own.map(str::to_owned),
        (given, Some(own)) if !given.split('&').any(|parameter| parameter == own) => {
            Some(format!("{given}&{own}"))
        }
        (given, _) => Some(given.to_owned()),
    };
    url.set_query(query.as_deref());
    url
}

/// An address for messages, without its query, which may contain a key.
pub(super) fn displayable(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.into()
}

/// Whether the server is on this machine. Then a proxy from the environment must not be used.
pub(super) fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls() {
        let example = "it looks like https://HOST/v1";
        let cases = [
            (Provider::openai(), "https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            (Provider::openai(), "http://localhost:8000/v1/", "http://localhost:8000/v1/chat/completions"),
            (Provider::openai(), "https://host/x/chat/completions", "https://host/x/chat/completions"),
            (Provider::responses(), "https://host/v1/responses", "https://host/v1/responses"),
            (Provider::anthropic(), "https://host/v1/messages/", "https://host/v1/messages"),
            (Provider::anthropic(), "https://host", "https://host/v1/messages"),
            (
                Provider::gemini(),
                "https://host/v1beta",
                "https://host/v1beta/models/a%3Fb:streamGenerateContent?alt=sse",
            ),
            (Provider::ollama(), "http://localhost:11434/v1", "http://localhost:11434/api/chat"),
            (Provider::ollama(), "http://localhost:11434/api/chat", "http://localhost:11434/api/chat"),
            (
                Provider::openai(),
                "localhost",
                "the base URL \"localhost\" is not valid (relative URL without a base); ",
            ),
            (
                Provider::openai(),
                "ftp://host/v1",
                "the base URL \"ftp://host/v1\" is neither http nor https; ",
            ),
            (
                Provider::openai(),
                "ftp://me:secret@host/v1?key=secret",
                "the base URL \"ftp://host/v1\" is neither http nor https; ",
            ),
            (
                Provider::openai(),
                "https://me:secret@host:99999/v1",
                "the base URL \"https://host:99999/v1\" is not valid (invalid port number); ",
            ),
            (
                Provider::openai(),
                "me:secret@host?key=secret",
                "the base URL \"host\" is neither http nor https; ",
            ),
            (
                Provider::openai(),
                "https://user:secret@host/v1",
                "the base URL holds a user name or password; they belong in the key",
            ),
            (
                Provider::openai(),
                "https://host/v1#secret",
                "the base URL has a fragment (what follows #); leave it out",
            ),
            // Azure and other services that expect something in the query.
            (
                Provider::openai(),
                "https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
                "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            ),
            (
                Provider::responses(),
                "https://r.openai.azure.com/openai/v1/responses?api-version=preview",
                "https://r.openai.azure.com/openai/v1/responses?api-version=preview",
            ),
            (Provider::anthropic(), "https://host/v1/?beta=true", "https://host/v1/messages?beta=true"),
            (
                Provider::gemini(),
                "https://host/v1beta?key=k%20k",
                "https://host/v1beta/models/a%3Fb:streamGenerateContent?key=k%20k&alt=sse",
            ),
            (
                Provider::gemini(),
                "https://host/v1beta?alt=sse",
                "https://host/v1beta/models/a%3Fb:streamGenerateContent?alt=sse",
            ),
            (Provider::ollama(), "http://localhost:11434?a", "http://localhost:11434/api/chat?a"),
        ];
        for (provider, base, expected) in cases {
            let provider = provider.with_base_url(base);
            let found = base_url(&provider).map(|url| request_url(&url, &provider, "a?b").to_string());
            let found = found.unwrap_or_else(|error| error.to_string().replace(example, ""));
            assert_eq!(found, expected, "{base}");
        }
    }

    #[test]
    fn the_name_of_a_model_stays_in_its_place() {
        let base = Url::parse("https://host/users/base").unwrap();
        let path = |provider: &Provider, model: &str| {
            let url = request_url(&base, provider, model);
            assert_eq!(url.host_str(), Some("host"), "{model}");
            url.path().to_owned()
        };
        let gemini = Provider::gemini();
        for (model, expected) in [
            ("gemini-2.5-pro", "models/gemini-2.5-pro"),
            ("models/gemini-2.5-pro", "models/gemini-2.5-pro"),
            ("tunedModels/mine", "tunedModels/mine"),
            ("x/../../v0/other", "models/x%2F..%2F..%2Fv0%2Fother"),
            ("../x", "models/..%2Fx"),
            ("..", "models/%252E%252E"),
            ("x/..", "models/x%2F.."),
            ("a/b/c", "models/a%2Fb%2Fc"),
            ("a?key=b#c", "models/a%3Fkey%3Db%23c"),
            ("a%2f..", "models/a%252f.."),
            ("a\\..\\b", "models/a%5C..%5Cb"),
        ] {
            let expected = format!("/users/base/{expected}:streamGenerateContent");
            assert_eq!(path(&gemini, model), expected, "{model}");
        }
    }

    #[test]
    fn loopback_is_this_machine() {
        let cases = [
            ("http://localhost/", true),
            ("http://127.8.9.1:80/", true),
            ("http://[::1]/", true),
            ("http://10.0.0.1/", false),
            ("https://localhost.example/", false),
        ];
        for (url, expected) in cases {
            assert_eq!(is_this_machine(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
