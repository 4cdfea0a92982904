//! Used without the feature `oauth`: nobody is logged in.

use crate::config::ServerConfig;

/// Stands for a kept login; there is none.
pub(crate) struct CredentialFile;

impl CredentialFile {
    pub(crate) fn of(_config: &ServerConfig) -> Option<Self> {
        None
    }

    #[expect(clippy::unused_self, reason = "it has the shape of what is there with the feature")]
    pub(crate) fn secrets(&self) -> Vec<String> {
        Vec::new()
    }

    #[expect(clippy::unused_self, reason = "it has the shape of what is there with the feature")]
    pub(crate) fn note_missing_scopes(&self, _scope: &str) {}
}

#[expect(clippy::unused_async, reason = "it has the shape of what is there with the feature")]
pub(crate) async fn authorized(
    _config: &ServerConfig,
    _file: Option<&CredentialFile>,
) -> Result<Option<reqwest::Client>, String> {
    Ok(None)
}
