//! The proxy that the environment names for a server. The HTTP library obeys these variables, and passes over in silence
//! what it cannot read in them.

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

use super::url::is_this_machine;

/// The address of the proxy through which requests to this server go, without its user and password.
pub(super) fn in_use(url: &Url) -> Option<String> {
    if is_this_machine(url) {
        return None;
    }
    let found = Matcher::from_env().intercept(&url.as_str().parse().ok()?)?;
    Some(found.uri().to_string().trim_end_matches('/').to_owned())
}

/// The variables that name a proxy for addresses with this scheme. Of each pair the first that is set counts.
pub(super) fn variables(url: &Url) -> [[&'static str; 2]; 2] {
    let of_scheme =
        if url.scheme() == "http" { ["HTTP_PROXY", "http_proxy"] } else { ["HTTPS_PROXY", "https_proxy"] };
    [of_scheme, ["ALL_PROXY", "all_proxy"]]
}

/// The variable that is to name a proxy for this server and does not, and what is wrong with it. Requests would go past
/// such a proxy.
pub fn proxy_problem(
    base_url: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, String)> {
    let url = Url::parse(base_url).ok().filter(|url| !is_this_machine(url))?;
    let first = |names: [&'static str; 2]| {
        names.into_iter().find_map(|name| variable(name).map(|value| (name, value)))
    };
    let (_, exceptions) = first(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    let is_address = |proxy: &str| {
        let uri = url.as_str().parse().ok();
        let matcher = Matcher::builder().all(proxy.to_owned()).no(exceptions.clone()).build();
        let found = uri.and_then(|uri| matcher.intercept(&uri));
        found.is_some_and(|found| {
            let (scheme, host) = (found.uri().scheme_str(), found.uri().host());
            matches!(scheme, Some("http" | "https")) && host.is_some_and(|host| !host.is_empty())
        })
    };
    if !is_address("http://proxy") {
        // No proxy is meant for this server.
        return None;
    }
    let (name, value) =
        variables(&url).into_iter().filter_map(first).find(|(_, value)| !value.trim().is_empty())?;
    if is_address(&value) {
        return None;
    }
    let shown = value.rsplit('@').next().unwrap_or_default();
    Some((name, format!("{shown:?} is no address of a proxy; write http://HOST:PORT, or unset it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_names_no_proxy_is_told() {
        let far = "https://api.example/v1";
        for (base, set, expected) in [
            (far, &[("HTTPS_PROXY", "::::")][..], Some("HTTPS_PROXY")),
            (far, &[("https_proxy", "ftp://me:secret@proxy:1")], Some("https_proxy")),
            (far, &[("ALL_PROXY", "http://")], Some("ALL_PROXY")),
            (far, &[("ALL_PROXY", "socks5://proxy:1080")], Some("ALL_PROXY")),
            (far, &[("HTTPS_PROXY", ""), ("ALL_PROXY", "a b")], Some("ALL_PROXY")),
            ("http://api.example/v1", &[("HTTP_PROXY", ":")], Some("HTTP_PROXY")),
            (far, &[("HTTPS_PROXY", "http://me:secret@proxy:3128")], None),
            (far, &[("HTTPS_PROXY", "proxy:3128"), ("ALL_PROXY", "::::")], None),
            (far, &[("HTTP_PROXY", "::::")], None),
            (far, &[("HTTPS_PROXY", "")], None),
            (far, &[], None),
            // Requests to these servers need no proxy.
            (far, &[("HTTPS_PROXY", "::::"), ("NO_PROXY", "other, .example")], None),
            ("http://localhost:8000/v1", &[("HTTP_PROXY", "::::")], None),
        ] {
            let variable = |name: &str| {
                let found = set.iter().find(|(set, _)| *set == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let found = proxy_problem(base, variable);
            assert_eq!(found.as_ref().map(|(name, _)| *name), expected, "{base} {set:?}");
            assert!(!found.is_some_and(|(_, problem)| problem.contains("secret")), "{set:?}");
        }
    }
}
