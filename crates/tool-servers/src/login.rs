//! Logins (OAuth 2.1, as the Model Context Protocol uses it) to servers at an address.
//!
//! Only the user can begin one ([`PendingLogin`]). Its result is kept in a private file for one server at one address
//! ([`Login`]), and sent only where it belongs: a token to that address, a refresh token to where the login was made.

mod credential_file;
mod network;
mod pending_login;
mod private_file;
mod redirect_listener;

use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{AuthClient, OAuthClientConfig};
use url::Url;

pub(crate) use self::credential_file::CredentialFile;
use self::network::Network;
pub use self::pending_login::PendingLogin;
use crate::config::{Connect, Login, ServerConfig};
use crate::connection::client;

/// A login that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLogin {
    /// The issuer of the tokens, where the user logged in.
    pub issuer: String,
    /// The permissions that the user gave, as far as they are known.
    pub scopes: Vec<String>,
}

impl StoredLogin {
    /// The login that is kept for a server; `None` if nobody is logged in.
    pub fn of(config: &ServerConfig) -> Result<Option<Self>, String> {
        let Some(credential_file) = CredentialFile::of(config) else { return Ok(None) };
        Ok(credential_file.read()?.map(|saved| Self { issuer: saved.issuer(), scopes: saved.granted() }))
    }

    /// Deletes a login; returns whether there was one. The tokens themselves end at their issuer, or with time.
    pub fn forget(config: &ServerConfig) -> Result<bool, String> {
        CredentialFile::of(config).map_or(Ok(false), |credential_file| credential_file.remove())
    }
}

/// The address of a server with a login, and how to log in.
fn login_of(config: &ServerConfig) -> Option<(&str, &Login)> {
    match &config.connect {
        Connect::Http { url, bearer: None, login: Some(login), .. } => Some((url, login)),
        _ => None,
    }
}

/// The client for a server to which the user is logged in; `None` if they are not.
pub(crate) async fn authorized(
    config: &ServerConfig,
    credential_file: Option<&CredentialFile>,
) -> Result<Option<AuthClient<reqwest::Client>>, String> {
    let (Some((url, login)), Some(credential_file)) = (login_of(config), credential_file) else {
        return Ok(None);
    };
    let Some(saved) = credential_file.read()? else { return Ok(None) };
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
    manager.set_credential_store(credential_file.clone());
    Ok(Some(AuthClient::new(client()?, manager)))
}

fn client_config(id: &str, secret: Option<String>, redirect: &str) -> OAuthClientConfig {
    let config = OAuthClientConfig::new(id, redirect);
    match secret {
        Some(secret) => config.with_client_secret(secret),
        None => config,
    }
}
