use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use url::Url;

use super::address::{
    Resolver, SystemResolver, check_address, is_public, parse_address, permitted_addresses,
};
use super::page::{Kind, Page};
use crate::clean;
use crate::request_failure::RequestFailure;

/// The limits of a fetch.
#[derive(Debug, Clone, Copy)]
pub(super) struct FetchLimits {
    /// From the first lookup to the last byte.
    pub(super) time: Duration,
    /// The most bytes of a page that are read.
    pub(super) bytes: usize,
    pub(super) redirects: usize,
}

const LIMITS: FetchLimits =
    FetchLimits { time: Duration::from_secs(30), bytes: 2 * 1024 * 1024, redirects: 5 };

/// Fetches pages of the public web, and nothing else.
pub(super) struct Fetcher {
    pub(super) http: bool,
    pub(super) resolver: Arc<dyn Resolver>,
    /// Whether an address may be connected to.
    pub(super) is_open: fn(&IpAddr) -> bool,
    pub(super) limits: FetchLimits,
}

impl Fetcher {
    pub(super) fn new(http: bool) -> Self {
        Self { http, resolver: Arc::new(SystemResolver), is_open: is_public, limits: LIMITS }
    }

    /// Fetches a page as text. The error says why there is none.
    pub(super) async fn fetch(&self, address: &str) -> Result<Page, RequestFailure> {
        let late = |_| Err(format!("it was not there within {} s", self.limits.time.as_secs_f32()).into());
        tokio::time::timeout(self.limits.time, self.follow(address)).await.unwrap_or_else(late)
    }

    async fn follow(&self, address: &str) -> Result<Page, RequestFailure> {
        let mut url = parse_address(address, self.http)?;
        for _ in 0..=self.limits.redirects {
            let answer = self.ask(&url).await?;
            match redirect_target(&answer, &url)? {
                None => return self.read(url, answer).await,
                Some(next) => {
                    url = check_address(next.clone(), self.http)
                        .map_err(|why| format!("it redirects to {next}: {why}"))?;
                }
            }
        }
        Err(format!("it redirects more than {} times", self.limits.redirects).into())
    }

    /// Makes one request. The address is looked up once, and the connection goes to what was checked.
    async fn ask(&self, url: &Url) -> Result<Response, RequestFailure> {
        let at = |why: String| format!("{}: {why}", url.host_str().unwrap_or_default());
        let places = permitted_addresses(url, &*self.resolver, self.is_open).await.map_err(at)?;
        let client =
            client(&places, self.http).map_err(|error| RequestFailure::new(error.to_string(), error))?;
        let accept =
            "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.8, application/xml;q=0.8";
        let answer = client.get(url.clone()).header(ACCEPT, accept).send().await;
        let answer = answer.map_err(|error| connection_failure(error).map_message(at))?;
        match answer.remote_addr() {
            Some(remote) if places.contains(&remote.ip()) => Ok(answer),
            _ => Err(at("the connection went elsewhere than was looked up".to_owned()).into()),
        }
    }

    async fn read(&self, url: Url, mut answer: Response) -> Result<Page, RequestFailure> {
        if !answer.status().is_success() {
            return Err(format!("it answered {}", answer.status()).into());
        }
        if let Some(coding) = header(answer.headers(), &CONTENT_ENCODING)
            && coding != "identity"
        {
            return Err(format!("it is compressed ({}), which was not asked for", clean(coding, 40)).into());
        }
        let said = header(answer.headers(), &CONTENT_TYPE).unwrap_or_default().to_owned();
        let Some(kind) = Kind::of(&said) else {
            let said = if said.is_empty() { "of no kind that it names" } else { &said };
            return Err(format!("it is {}, and only text and HTML are read", clean(said, 80)).into());
        };
        let mut body = Vec::new();
        let mut is_whole = true;
        while let Some(piece) = answer.chunk().await.map_err(connection_failure)? {
            let room = self.limits.bytes - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if room < piece.len() {
                is_whole = false;
                break;
            }
        }
        Ok(Page::of(url.to_string(), kind, &said, &body, is_whole)?)
    }
}

/// The target of a redirect, if the answer is one.
fn redirect_target(answer: &Response, url: &Url) -> Result<Option<Url>, String> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = header(answer.headers(), &LOCATION) else {
        return Err(format!("it answered {} and does not say where the page is", answer.status()));
    };
    let next = url.join(location).map_err(|error| format!("it redirects to no address: {error}"))?;
    Ok(Some(next))
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// A client for one request: it connects to these addresses whatever the name is, without a proxy and without
/// following redirects.
pub(crate) fn client(places: &[IpAddr], http: bool) -> reqwest::Result<Client> {
    headstart_providers::install_tls_provider();
    let places = places.iter().map(|address| SocketAddr::new(*address, 0)).collect();
    Client::builder()
        .dns_resolver(Arc::new(PinnedResolver(places)))
        .no_proxy()
        .redirect(Policy::none())
        .referer(false)
        .https_only(!http)
        .pool_max_idle_per_host(0)
        .user_agent(concat!("headstart/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// The addresses that were checked, as a resolver.
struct PinnedResolver(Vec<SocketAddr>);

impl Resolve for PinnedResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(async move { Ok(addresses) })
    }
}

/// Why there is no answer, from the innermost error, which says it best.
pub(crate) fn connection_failure(error: reqwest::Error) -> RequestFailure {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let words = clean(&cause.to_string(), 300);
    RequestFailure::new(words, error)
}
