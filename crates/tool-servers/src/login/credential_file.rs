use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadata, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{login_of, private_file};
use crate::config::ServerConfig;
use crate::untrusted::clean;

/// The most bytes of a token, because more does not fit into a header.
const MAX_TOKEN: usize = 16 * 1024;
/// How long to wait for another process that refreshes the tokens.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// How often to check whether it has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The most additional permissions that are remembered.
const MAX_MISSING_SCOPES: usize = 32;

/// The content of the file.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SavedLogin {
    /// The address of the server. If it is another one, the login does not count.
    pub(super) server: String,
    /// The address for which the tokens are, as the server spells it.
    pub(super) resource: String,
    pub(super) metadata: AuthorizationMetadata,
    pub(super) redirect: String,
    pub(super) client_id: String,
    /// The secret of the registration.
    pub(super) client_secret: Option<String>,
    pub(super) credentials: Option<StoredCredentials>,
    /// The additional permissions that the server wanted.
    #[serde(default)]
    pub(super) wanted: Vec<String>,
}

impl SavedLogin {
    /// The issuer, where the user logged in.
    pub(super) fn issuer(&self) -> String {
        clean(self.metadata.issuer.as_ref().unwrap_or(&self.metadata.authorization_endpoint), 300)
    }

    pub(super) fn granted(&self) -> Vec<String> {
        let scopes = self.credentials.as_ref().map(|credentials| credentials.granted_scopes.as_slice());
        scopes.unwrap_or_default().iter().map(|scope| clean(scope, 200)).collect()
    }

    /// What must not appear anywhere else.
    fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<_> = self.client_secret.iter().cloned().collect();
        let credentials = serde_json::to_value(&self.credentials).unwrap_or_default();
        let tokens = credentials.get("token_response").and_then(Value::as_object);
        for name in ["access_token", "refresh_token", "id_token"] {
            secrets.extend(tokens.and_then(|all| all.get(name)?.as_str()).map(str::to_owned));
        }
        secrets.retain(|secret| !secret.is_empty());
        secrets
    }
}

/// The login of a server, in its file.
#[derive(Clone)]
pub(crate) struct CredentialFile {
    file: PathBuf,
    server: String,
    /// For a login that is being made: what the file contained before.
    draft: Option<SavedLogin>,
    /// Every secret that was read or written.
    secrets: Arc<Mutex<BTreeSet<String>>>,
}

impl CredentialFile {
    pub(crate) fn of(config: &ServerConfig) -> Option<Self> {
        let (url, login) = login_of(config)?;
        let own = login.client.as_ref().and_then(|client| client.secret.clone());
        let secrets = Arc::new(Mutex::new(own.into_iter().collect()));
        Some(Self { file: login.file.clone(), server: url.to_owned(), draft: None, secrets })
    }

    /// The address of the server.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// Prepares it to keep the result of a new login.
    pub(super) fn with_draft(mut self, draft: SavedLogin) -> Self {
        self.remember_secrets(&draft);
        self.draft = Some(draft);
        self
    }

    /// The login that is kept; `None` if there is none for this server.
    pub(super) fn read(&self) -> Result<Option<SavedLogin>, String> {
        let Some(text) = private_file::read(&self.file).map_err(|why| self.file_error("read", &why))? else {
            return Ok(None);
        };
        let wrong = |_| self.file_error("read", "it is none of headstart's; log out, and in once more");
        let saved: SavedLogin = serde_json::from_str(&text).map_err(wrong)?;
        self.remember_secrets(&saved);
        Ok((saved.server == self.server && saved.credentials.is_some()).then_some(saved))
    }

    fn write(&self, saved: &SavedLogin) -> Result<(), String> {
        self.remember_secrets(saved);
        let text = serde_json::to_string(saved).map_err(|error| error.to_string())?;
        private_file::write(&self.file, &text).map_err(|error| self.file_error("written", &error.to_string()))
    }

    /// Deletes the login; returns whether there was one.
    pub(super) fn remove(&self) -> Result<bool, String> {
        let removed = match fs::remove_file(&self.file) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(self.file_error("removed", &error.to_string())),
        };
        // A process that holds the lock keeps a file without a name, and finds no login.
        let _ = fs::remove_file(self.lock_file());
        Ok(removed)
    }

    /// Notes which permissions the server wants in addition: the next login requests them.
    pub(crate) fn note_missing_scopes(&self, scopes: &str) {
        let Ok(Some(mut saved)) = self.read() else { return };
        let new: Vec<_> = scopes
            .split_whitespace()
            .filter(|scope| saved.wanted.iter().all(|known| known != scope))
            .map(str::to_owned)
            .collect();
        saved.wanted.extend(new);
        saved.wanted.truncate(MAX_MISSING_SCOPES);
        // Without this note, the next login is only less convenient.
        let _ = self.write(&saved);
    }

    /// What must not appear in any error or result.
    pub(crate) fn secrets(&self) -> Vec<String> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn remember_secrets(&self, saved: &SavedLogin) {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner).extend(saved.secrets());
    }

    fn lock_file(&self) -> PathBuf {
        self.file.with_extension("lock")
    }

    fn file_error(&self, action: &str, why: &str) -> String {
        format!("the file of its login, {}, cannot be {action}: {why}", self.file.display())
    }
}

fn store_error(why: String) -> AuthError {
    AuthError::CredentialStoreError(why)
}

#[async_trait]
impl CredentialStore for CredentialFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.read().map_err(store_error)?.and_then(|saved| saved.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        // If the user logged out meanwhile, they stay logged out.
        let Some(mut saved) =
            self.draft.clone().map_or_else(|| self.read(), |draft| Ok(Some(draft))).map_err(store_error)?
        else {
            return Ok(());
        };
        saved.credentials = Some(credentials);
        if saved.secrets().iter().any(|secret| MAX_TOKEN < secret.len()) {
            return Err(store_error(format!("a token is longer than {MAX_TOKEN} bytes")));
        }
        self.write(&saved).map_err(store_error)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.remove().map(drop).map_err(store_error)
    }

    async fn on_refresh_token_rejected(&self, credentials: &StoredCredentials) -> Result<(), AuthError> {
        let refused = serde_json::to_value(credentials).ok();
        let credential_file = self.read().map_err(store_error)?.and_then(|saved| saved.credentials);
        if refused.is_some() && refused == serde_json::to_value(credential_file).ok() {
            self.remove().map_err(store_error)?;
        }
        Ok(())
    }

    /// Lets one process at a time refresh the tokens, because a refresh token can be used only once.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let failed = |error: io::Error| store_error(self.file_error("written", &error.to_string()));
        let lock = private_file::open_lock(&self.lock_file()).map_err(failed)?;
        let late = tokio::time::Instant::now() + MAX_WAIT;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Some(CredentialRefreshGuard::new(lock))),
                Err(fs::TryLockError::WouldBlock) if tokio::time::Instant::now() < late => {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                Err(error) => return Err(failed(error.into())),
            }
        }
    }
}
