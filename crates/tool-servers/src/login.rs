//! Logins (OAuth 2.1 as the Model Context Protocol has it) to servers behind an address.
//!
//! The user begins one ([`PendingLogin`]); nothing else does. What comes of it is kept in one private file for one server at one address ([`Login`]), and goes to
//! that server alone: a token to its address, what gets new tokens to where the login was made.

mod begin;
mod kept;
mod network;
mod redirect;

use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{AuthClient, OAuthClientConfig};
use url::Url;

pub use self::begin::PendingLogin;
pub(crate) use self::kept::Kept;
use self::network::Network;
use crate::config::{Connect, Login, ServerConfig};
use crate::connection::client;

/// What is kept of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    /// Where the user logged in: the issuer of the tokens.
    pub at: String,
    /// What they permitted, as far as it is known.
    pub scopes: Vec<String>,
}

impl LoggedIn {
    /// What is kept for a server; `None`: nobody is logged in.
    pub fn of(config: &ServerConfig) -> Result<Option<Self>, String> {
        let Some(kept) = Kept::of(config) else { return Ok(None) };
        Ok(kept.read()?.map(|saved| Self { at: saved.at(), scopes: saved.granted() }))
    }

    /// Forgets a login; whether there was one. What was permitted ends where the user logged in, or with its time.
    pub fn forget(config: &ServerConfig) -> Result<bool, String> {
        Kept::of(config).map_or(Ok(false), |kept| kept.remove())
    }
}

/// Of a server behind an address that may be logged in to: its address, and how.
fn parts(config: &ServerConfig) -> Option<(&str, &Login)> {
    match &config.connect {
        Connect::Http { url, bearer: None, login: Some(login), .. } => Some((url, login)),
        _ => None,
    }
}

/// The client of a server to which its user is logged in; `None`: they are not.
pub(crate) async fn authorized(
    config: &ServerConfig,
    kept: Option<&Kept>,
) -> Result<Option<AuthClient<reqwest::Client>>, String> {
    let (Some((url, login)), Some(kept)) = (parts(config), kept) else { return Ok(None) };
    let Some(saved) = kept.read()? else { return Ok(None) };
    let base = Url::parse(url).map_err(|error| error.to_string())?;
    // What is asked is where the user logged in; nothing is looked for anew, so nobody can lead it elsewhere.
    let network = Network::new(base).for_resource(saved.resource.clone());
    let manager = AuthorizationManager::new_with_oauth_http_client(url, std::sync::Arc::new(network)).await;
    let mut manager = manager.map_err(|error| error.to_string())?;
    let own = login.client.as_ref();
    let secret = own.map_or(saved.client_secret.clone(), |own| own.secret.clone());
    let id = own.map_or(saved.client_id.as_str(), |own| own.id.as_str());
    manager.set_metadata(saved.metadata.clone());
    manager
        .configure_client(client_config(id, secret, &saved.redirect))
        .map_err(|error| error.to_string())?;
    manager.set_credential_store(kept.clone());
    Ok(Some(AuthClient::new(client()?, manager)))
}

fn client_config(id: &str, secret: Option<String>, redirect: &str) -> OAuthClientConfig {
    let config = OAuthClientConfig::new(id, redirect);
    match secret {
        Some(secret) => config.with_client_secret(secret),
        None => config,
    }
}
