//! Logins (OAuth 2.1, as the Model Context Protocol uses it) to servers at an address.
//!
//! Only the user can begin one ([`PendingLogin`]). Its result is kept in a private file for one server at one address
//! ([`Login`]), and sent only where it belongs: a token to that address, a refresh token to where the login was made.

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

/// A login that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    /// The issuer of the tokens, where the user logged in.
    pub at: String,
    /// The permissions that the user gave, as far as they are known.
    pub scopes: Vec<String>,
}

impl LoggedIn {
    /// The login that is kept for a server; `None` if nobody is logged in.
    pub fn of(config: &ServerConfig) -> Result<Option<Self>, String> {
        let Some(kept) = Kept::of(config) else { return Ok(None) };
        Ok(kept.read()?.map(|saved| Self { at: saved.at(), scopes: saved.granted() }))
    }

    /// Deletes a login; returns whether there was one. The tokens themselves end at their issuer, or with time.
    pub fn forget(config: &ServerConfig) -> Result<bool, String> {
        Kept::of(config).map_or(Ok(false), |kept| kept.remove())
    }
}

/// The address of a server with a login, and how to log in.
fn parts(config: &ServerConfig) -> Option<(&str, &Login)> {
    match &config.connect {
        Connect::Http { url, bearer: None, login: Some(login), .. } => Some((url, login)),
        _ => None,
    }
}

/// The client for a server to which the user is logged in; `None` if they are not.
pub(crate) async fn authorized(
    config: &ServerConfig,
    kept: Option<&Kept>,
) -> Result<Option<AuthClient<reqwest::Client>>, String> {
    let (Some((url, login)), Some(kept)) = (parts(config), kept) else { return Ok(None) };
    let Some(saved) = kept.read()? else { return Ok(None) };
    let base = Url::parse(url).map_err(|error| error.to_string())?;
    // Only the issuer of the login is asked. It is not discovered anew, so nobody can redirect the request.
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
