use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::AuthorizationMetadataSource;
use url::Url;

use super::credential_file::{CredentialFile, SavedLogin};
use super::network::{Network, is_here};
use super::redirect_listener::RedirectListener;
use super::{client_config, login_of};
use crate::config::{Login, ServerConfig};
use crate::connection::describe_error;
use crate::untrusted::clean;

/// The time limit for finding out where the user logs in.
const DISCOVERY_TIME: Duration = Duration::from_secs(60);
/// The time limit for the user's login.
const LOGIN_TIME: Duration = Duration::from_secs(10 * 60);
/// The most permissions.
const MAX_SCOPES: usize = 64;
/// The most bytes of one permission.
const MAX_SCOPE: usize = 200;
/// The most bytes of the address that is opened.
const MAX_ADDRESS: usize = 8 * 1024;

/// A login that waits for the user: they open [`address`](Self::address) in a browser, agree there, and are sent back
/// to this machine. Nobody is logged in before [`finish`](Self::finish) has returned; if this is dropped before,
/// nothing is left.
pub struct PendingLogin {
    manager: AuthorizationManager,
    network: Arc<Network>,
    redirect: RedirectListener,
    credential_file: CredentialFile,
    address: Url,
    state: String,
    server: String,
    issuer: String,
    scopes: Vec<String>,
}

impl PendingLogin {
    /// Finds out where the user of a server logs in, and registers there. The error says why that is not possible.
    pub async fn begin(config: &ServerConfig) -> Result<Self, String> {
        let Some((url, login)) = login_of(config) else {
            return Err("only a server behind a url that has no `bearer` is logged in to".to_owned());
        };
        let base = Url::parse(url).map_err(|error| error.to_string())?;
        if base.scheme() != "https" && !is_here(&base) {
            return Err("its address is not encrypted, and a token would go over the network for all to read; use https".to_owned());
        }
        let credential_file = CredentialFile::of(config).ok_or("nobody may log in to it")?;
        let late =
            |_| Err(format!("where to log in was not found out within {} s", DISCOVERY_TIME.as_secs()));
        let found = tokio::time::timeout(DISCOVERY_TIME, Self::discover(base, login, credential_file));
        found.await.unwrap_or_else(late)
    }

    async fn discover(base: Url, login: &Login, credential_file: CredentialFile) -> Result<Self, String> {
        let network = Arc::new(Network::new(base.clone()));
        let cause = |error: rmcp::transport::AuthError| describe_error(&error, &credential_file.secrets());
        let manager = AuthorizationManager::new_with_oauth_http_client(base.as_str(), network.clone()).await;
        let mut manager = manager.map_err(cause)?;
        let found = manager.resolve_metadata().await.map_err(cause)?;
        if found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
            return Err("it does not say where to log in to it".to_owned());
        }
        let metadata = found.metadata;
        let s256 = |methods: &Vec<String>| methods.iter().any(|method| method == "S256");
        if !metadata.code_challenge_methods_supported.as_ref().is_some_and(s256) {
            return Err("where one logs in to it, nothing keeps others from using what the browser brings back (PKCE with S256), so headstart does not log in there".to_owned());
        }
        for endpoint in [&metadata.authorization_endpoint, &metadata.token_endpoint]
            .into_iter()
            .chain(&metadata.registration_endpoint)
        {
            let refused =
                |why: String| format!("it would have you log in at {}: {why}", clean(endpoint, 200));
            let url = Url::parse(endpoint).map_err(|error| refused(error.to_string()))?;
            network.permitted_addresses(&url).await.map_err(refused)?;
        }
        manager.set_metadata(metadata.clone());
        let before = credential_file.read().ok().flatten();
        let scopes = scopes(login, before.as_ref(), manager.select_initial_scopes(&[]).await);
        let named: Vec<_> = scopes.iter().map(String::as_str).collect();
        let redirect = RedirectListener::open().await?;
        let back = redirect.address();
        let (client_id, client_secret) = match &login.client {
            Some(own) => {
                manager.configure_client(client_config(&own.id, own.secret.clone(), &back)).map_err(cause)?;
                (own.id.clone(), None)
            }
            None if metadata.registration_endpoint.is_none() => {
                return Err("where one logs in to it, no program registers itself; register headstart there, with http://127.0.0.1/callback to come back to, and set `oauth = { client_id = \"…\" }` in your own file".to_owned());
            }
            None => {
                let registered = manager.register_client("headstart", &back, &named).await.map_err(cause)?;
                (registered.client_id, registered.client_secret)
            }
        };
        let address = manager.get_authorization_url(&named).await.map_err(cause)?;
        let address = Url::parse(&address).map_err(|error| error.to_string())?;
        if MAX_ADDRESS < address.as_str().len() {
            return Err(format!("the address to log in at has more than {MAX_ADDRESS} bytes"));
        }
        let (state, resource) =
            (single_parameter(&address, "state")?, single_parameter(&address, "resource")?);
        single_parameter(&address, "redirect_uri")?;
        single_parameter(&address, "code_challenge")?;
        let issuer = clean(metadata.issuer.as_ref().unwrap_or(&metadata.authorization_endpoint), 300);
        let server = base.to_string();
        let draft = SavedLogin {
            server: credential_file.server().to_owned(),
            resource,
            metadata,
            redirect: back,
            client_id,
            client_secret,
            credentials: None,
            wanted: Vec::new(),
        };
        let credential_file = credential_file.with_draft(draft);
        manager.set_credential_store(credential_file.clone());
        Ok(Self { manager, network, redirect, credential_file, address, state, server, issuer, scopes })
    }

    /// The address that the user opens in a browser.
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    /// The server that requests the login. It gets whatever the user permits.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Who asks the user to log in: the issuer of the tokens.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The permissions that are requested; empty if none are named.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Waits up to ten minutes until the user is back, and keeps the tokens.
    pub async fn finish(self) -> Result<(), String> {
        let late = |_| Err(format!("nobody came back from it within {} minutes", LOGIN_TIME.as_secs() / 60));
        let response = tokio::time::timeout(LOGIN_TIME, self.redirect.wait(&self.state)).await;
        let response = response.unwrap_or_else(late)?;
        drop(self.redirect);
        let (code, issuer) = (&response.code, response.issuer.as_deref());
        let exchanged = self.manager.exchange_code_for_token_with_issuer(code, &self.state, issuer).await;
        let mut secrets = self.credential_file.secrets();
        secrets.push(response.code.clone());
        exchanged.map(drop).map_err(|error| {
            let why = describe_error(&error, &secrets);
            self.network.last_error().map_or(why.clone(), |trouble| format!("{why}: {trouble}"))
        })
    }
}

/// The permissions to request: those that the user configured, otherwise those that the server names, together with
/// those it wanted since the last login.
fn scopes(login: &Login, before: Option<&SavedLogin>, server: Vec<String>) -> Vec<String> {
    let mut all = if login.scopes.is_empty() { server } else { login.scopes.clone() };
    if let Some(before) = before.filter(|before| !before.wanted.is_empty()) {
        all.extend(before.granted());
        all.extend(before.wanted.iter().cloned());
    }
    let mut scopes: Vec<String> = Vec::new();
    for scope in all {
        let is_plain = scope.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e));
        if is_plain && (1..=MAX_SCOPE).contains(&scope.len()) && !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    scopes.truncate(MAX_SCOPES);
    scopes
}

/// The value of a parameter that must occur exactly once in an address that a stranger made.
fn single_parameter(address: &Url, name: &str) -> Result<String, String> {
    let mut found = address.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    match (found.next(), found.next()) {
        (Some(value), None) => Ok(value),
        _ => Err(format!("the address to log in at says {name} itself, which is headstart's to say")),
    }
}
