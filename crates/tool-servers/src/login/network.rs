use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};
use url::{Host, Origin, Url, form_urlencoded};

use crate::web::{Resolver, SystemResolver, client_to, is_public, permitted_addresses};

/// The time limit of one request of a login.
const TIME: Duration = Duration::from_secs(20);
/// The most bytes of its answer.
const MAX_ANSWER: usize = 256 * 1024;

/// Makes all requests of a login. Their addresses come from strangers: from the server, and from those that it names.
///
/// Requests go to encrypted and public addresses only, as for a web page, with two exceptions: the server itself may
/// be wherever the user says, and a server on this machine may name others on this machine. No redirect is followed.
pub(super) struct Network {
    server: Url,
    /// For whom the tokens are, as the server spells it. The library parses it as an address, which may add a slash.
    resource: Option<String>,
    resolver: Arc<dyn Resolver>,
    time: Duration,
    /// Why the last request failed, because the library does not pass that on.
    last_error: Mutex<Option<String>>,
}

impl Network {
    pub(super) fn new(server: Url) -> Self {
        Self {
            server,
            resource: None,
            resolver: Arc::new(SystemResolver),
            time: TIME,
            last_error: Mutex::default(),
        }
    }

    pub(super) fn for_resource(mut self, resource: String) -> Self {
        self.resource = Some(resource);
        self
    }

    /// Why the last request failed, if it did.
    pub(super) fn last_error(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.last_error.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The addresses of a host, if requests to it are permitted.
    pub(super) async fn permitted_addresses(&self, url: &Url) -> Result<Vec<IpAddr>, String> {
        let here = is_here(&self.server);
        match url.scheme() {
            "https" => {}
            "http" if here && is_here(url) => {}
            "http" => return Err("it is not encrypted, and a login goes over https only".to_owned()),
            other => return Err(format!("{other}: is no address of a login")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it holds a name or a password".to_owned());
        }
        let is_open: fn(&IpAddr) -> bool = match same(&self.server.origin(), &url.origin()) {
            true => |_| true,
            false if here => |address| is_public(address) || address.is_loopback(),
            false => is_public,
        };
        permitted_addresses(url, &*self.resolver, is_open).await
    }

    async fn ask(&self, request: OAuthHttpRequest) -> Result<http::Response<Vec<u8>>, String> {
        let mut request = reqwest::Request::try_from(request.request).map_err(|error| error.to_string())?;
        let url = request.url().clone();
        let at = |why: String| format!("{}: {why}", displayable(&url));
        let places = self.permitted_addresses(&url).await.map_err(at)?;
        self.set_resource(&mut request);
        let client = client_to(&places, url.scheme() == "http").map_err(|error| error.to_string())?;
        let lost = |error: reqwest::Error| at(crate::web::connection_failure(error).to_string());
        let mut answer = client.execute(request).await.map_err(lost)?;
        if !answer.remote_addr().is_some_and(|remote| places.contains(&remote.ip())) {
            return Err(at("the connection went elsewhere than was looked up".to_owned()));
        }
        let mut whole = http::Response::new(Vec::new());
        *whole.status_mut() = answer.status();
        *whole.headers_mut() = answer.headers().clone();
        while let Some(piece) = answer.chunk().await.map_err(lost)? {
            if MAX_ANSWER < whole.body().len() + piece.len() {
                return Err(at(format!("its answer is longer than {MAX_ANSWER} bytes")));
            }
            whole.body_mut().extend_from_slice(&piece);
        }
        Ok(whole)
    }

    /// Spells the resource as the server does.
    fn set_resource(&self, request: &mut reqwest::Request) {
        let Some(resource) = &self.resource else { return };
        let is_form = request
            .headers()
            .get(reqwest::header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
        let form = request.body().and_then(reqwest::Body::as_bytes).filter(|_| is_form);
        let Some(form) = form else { return };
        let mut named = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form_urlencoded::parse(form) {
            named.append_pair(&name, if name == "resource" { resource } else { &value });
        }
        let named = named.finish();
        request.headers_mut().remove(reqwest::header::CONTENT_LENGTH);
        *request.body_mut() = Some(named.into());
    }
}

impl OAuthHttpClient for Network {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let url = request.request.uri().to_string();
            let late = || format!("{url} did not answer within {} s", self.time.as_secs_f32());
            let answer = tokio::time::timeout(self.time, self.ask(request)).await;
            let answer = answer.unwrap_or_else(|_| Err(late()));
            *self.lock() = answer.as_ref().err().cloned();
            answer.map_err(OAuthHttpClientError::from)
        })
    }
}

/// An address without parts that may be secret.
fn displayable(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

fn same(one: &Origin, other: &Origin) -> bool {
    one.is_tuple() && one == other
}

/// Whether an address literally names this machine.
pub(super) fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use async_trait::async_trait;

    use super::*;

    struct FakeResolver;

    #[async_trait]
    impl Resolver for FakeResolver {
        async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
            let address = match host {
                "here.example" | "localhost" => "127.0.0.1",
                "inside.example" => "10.0.0.9",
                "cloud.example" => "169.254.169.254",
                "mcp.corp" => "10.0.0.7",
                _ => "93.184.216.34",
            };
            Ok(vec![address.parse().map_err(io::Error::other)?])
        }
    }

    #[tokio::test]
    async fn only_what_is_public_and_encrypted_is_asked() {
        let cases = [
            // The server's address, the address that a stranger named, and whether requests to that are permitted.
            ("https://mcp.example/mcp", "https://login.example/token", true),
            ("https://mcp.example/mcp", "http://login.example/token", false),
            ("https://mcp.example/mcp", "https://here.example/token", false),
            ("https://mcp.example/mcp", "https://inside.example/token", false),
            ("https://mcp.example/mcp", "https://cloud.example/latest/meta-data", false),
            ("https://mcp.example/mcp", "http://127.0.0.1:8080/token", false),
            ("https://mcp.example/mcp", "https://[::1]/token", false),
            ("https://mcp.example/mcp", "https://[::ffff:10.0.0.9]/token", false),
            ("https://mcp.example/mcp", "file:///etc/passwd", false),
            ("https://mcp.example/mcp", "ftp://login.example/", false),
            ("https://mcp.example/mcp", "javascript:alert(1)", false),
            ("https://mcp.example/mcp", "https://user:word@login.example/", false),
            // That the user put the server there counts only for the server, and for this port.
            ("https://mcp.corp/mcp", "https://mcp.corp/token", true),
            ("https://mcp.corp/mcp", "https://mcp.corp:8443/token", false),
            ("https://mcp.corp/mcp", "https://inside.example/token", false),
            ("http://mcp.corp/mcp", "http://mcp.corp/token", false),
            // The server is on this machine.
            ("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/token", true),
            ("http://localhost:1/mcp", "http://127.0.0.1:2/token", true),
            ("http://127.0.0.1:1/mcp", "https://login.example/token", true),
            ("http://127.0.0.1:1/mcp", "http://login.example/token", false),
            ("http://127.0.0.1:1/mcp", "https://inside.example/token", false),
            ("http://127.0.0.1:1/mcp", "http://localhost.example/token", false),
        ];
        for (server, asked, expected) in cases {
            let network = Network { resolver: Arc::new(FakeResolver), ..Network::new(url(server)) };
            let places = network.permitted_addresses(&url(asked)).await;
            assert_eq!(places.is_ok(), expected, "{server} names {asked}: {places:?}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_never_comes_is_given_up() {
        let silent =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|error| panic!("{error}"));
        let port = silent.local_addr().map_or(0, |address| address.port());
        let server = format!("http://127.0.0.1:{port}/mcp");
        let network = Network { time: Duration::from_millis(50), ..Network::new(url(&server)) };
        let manager =
            rmcp::transport::AuthorizationManager::new_with_oauth_http_client(&server, Arc::new(network));
        let manager = manager.await.unwrap_or_else(|error| panic!("{error}"));
        let why = manager
            .resolve_metadata()
            .await
            .map(|found| found.source)
            .map_err(|error| crate::connection::describe_error(&error, &[]));
        assert!(why.as_ref().is_err_and(|why| why.contains("did not answer within 0.05 s")), "{why:?}");
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }
}
