use std::fmt;
use std::time::UNIX_EPOCH;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use reqwest::Request;
use reqwest::header::{HeaderName, HeaderValue};

use crate::Clock;
use headstart_forked_query::Cause;

/// The keys of an AWS account, and the region for its requests. They sign requests, and are neither sent nor printed.
#[derive(Clone)]
pub struct AwsKeys {
    /// `AWS_ACCESS_KEY_ID`.
    pub access_key_id: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_access_key: String,
    /// `AWS_SESSION_TOKEN`, if the keys are temporary.
    pub session_token: Option<String>,
    /// `us-east-1`, for example.
    pub region: String,
}

impl fmt::Debug for AwsKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AwsKeys(***, {})", self.region)
    }
}

/// Signs requests with AWS Signature Version 4.
#[derive(Clone)]
pub(super) struct Signer {
    pub(super) keys: AwsKeys,
    /// The time since 1970.
    pub(super) clock: Clock,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.keys.fmt(f)
    }
}

impl Signer {
    /// Adds the headers of the signature.
    pub(super) fn sign(&self, request: &mut Request) -> Result<(), Cause> {
        let AwsKeys { access_key_id, secret_access_key, session_token, region } = self.keys.clone();
        let identity =
            Credentials::new(access_key_id, secret_access_key, session_token, None, "headstart").into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(region.as_str())
            .name("bedrock")
            .time(UNIX_EPOCH + (self.clock)())
            .settings(SigningSettings::default())
            .build()?
            .into();
        let body = request.body().and_then(|body| body.as_bytes()).unwrap_or_default();
        let headers =
            request.headers().iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let method = request.method().as_str();
        let signable =
            SignableRequest::new(method, request.url().as_str(), headers, SignableBody::Bytes(body));
        let (instructions, _) = sign(signable?, &params)?.into_parts();
        let (added, _) = instructions.into_parts();
        for header in added {
            let name = HeaderName::from_static(header.name());
            let mut value = HeaderValue::from_str(header.value())?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    /// The expected signature was computed by another implementation, for a path that is encoded twice.
    #[test]
    fn a_request_is_signed_as_the_rules_say_and_shows_no_secret() {
        let keys = AwsKeys {
            access_key_id: "AKIDEXAMPLE".into(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            session_token: Some("session".into()),
            region: "eu-central-1".into(),
        };
        assert_eq!(format!("{keys:?}"), "AwsKeys(***, eu-central-1)");
        crate::install_tls_provider();
        let signer = Signer { keys, clock: Arc::new(|| Duration::from_secs(1_440_938_160)) };
        let url =
            "https://bedrock-runtime.eu-central-1.amazonaws.com/model/anthropic.claude-x%3A0/converse-stream";
        let request = reqwest::Client::new().post(url).header("content-type", "application/json");
        let mut request = request.body(r#"{"messages":[]}"#).build().unwrap();
        signer.sign(&mut request).unwrap();
        assert_eq!(
            request.headers()["authorization"],
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-central-1/bedrock/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, \
             Signature=8dd9cd4c14284cac0faac12364fb0b03c8d99c519c14a735e8b9e7eabbd30a1f"
        );
        assert_eq!(request.headers()["x-amz-date"], "20150830T123600Z");
        assert_eq!(request.headers()["x-amz-security-token"], "session");
    }
}
