//! An authorization server and a server of tools that accepts its tokens, both as strict as real ones.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headstart_tool_servers::{Connect, Login, ServerConfig, ServerName, Trust};
use serde_json::{Value, json as value};
use sha2::{Digest, Sha256};

use crate::login_web::{RecordedRequest, TestResponse, TestServer, answer, json};

/// How an authorization server behaves, and the tokens that it has given out.
pub(crate) struct AuthorizationServer {
    /// Replaces or adds fields of the server's metadata; `null` removes a field.
    pub(crate) metadata: Value,
    /// The issuer that its answers name.
    pub(crate) issuer_of_answers: Option<String>,
    /// How long a token lasts, in seconds.
    pub(crate) token_lifetime: u64,
    /// The secret that a registration gives to the client.
    pub(crate) secret: Option<&'static str>,
    pub(crate) token_endpoint: fn() -> Option<TestResponse>,
    pub(crate) registration: fn() -> Option<TestResponse>,
    /// The resource for which all tokens are made, whatever was asked for.
    pub(crate) audience: Option<String>,
    pub(crate) refuses_refresh: bool,
    pub(crate) issued: Mutex<IssuedTokens>,
}

#[derive(Default)]
pub(crate) struct IssuedTokens {
    number: u32,
    /// The redirect address of each client.
    clients: BTreeMap<String, String>,
    /// The challenge, client, resource and scopes of each code.
    codes: BTreeMap<String, [String; 4]>,
    /// The resource and scopes of each valid token.
    tokens: BTreeMap<String, (String, String)>,
    refresh: BTreeMap<String, (String, String)>,
}

impl Default for AuthorizationServer {
    fn default() -> Self {
        Self {
            metadata: value!({}),
            issuer_of_answers: None,
            token_lifetime: 3600,
            secret: None,
            token_endpoint: || None,
            registration: || None,
            audience: None,
            refuses_refresh: false,
            issued: Mutex::default(),
        }
    }
}

impl AuthorizationServer {
    pub(crate) async fn start(self) -> (TestServer, Arc<Self>) {
        let authority = Arc::new(self);
        let own = Arc::clone(&authority);
        (TestServer::start(move |origin, asked| own.answer(origin, asked)).await, authority)
    }

    /// The scopes of a token, if it is valid for a resource.
    pub(crate) fn permits(&self, token: &str, resource: &str) -> Option<String> {
        let issued = self.issued.lock().unwrap();
        issued.tokens.get(token).filter(|(of, _)| of == resource).map(|(_, scopes)| scopes.clone())
    }

    /// Ends all tokens now.
    pub(crate) fn end_tokens(&self) {
        self.issued.lock().unwrap().tokens.clear();
    }

    fn answer(&self, origin: &str, asked: &RecordedRequest) -> TestResponse {
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", "/.well-known/oauth-authorization-server") => {
                let mut metadata = value!({
                    "issuer": origin,
                    "authorization_endpoint": format!("{origin}/authorize"),
                    "token_endpoint": format!("{origin}/token"),
                    "registration_endpoint": format!("{origin}/register"),
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                });
                for (name, value) in self.metadata.as_object().unwrap() {
                    metadata[name] = value.clone();
                }
                metadata.as_object_mut().unwrap().retain(|_, value| !value.is_null());
                json(&metadata)
            }
            ("POST", "/register") => (self.registration)().unwrap_or_else(|| self.register(&asked.body)),
            ("GET", "/authorize") => self.authorize(origin, &asked.query),
            ("POST", "/token") => (self.token_endpoint)().unwrap_or_else(|| self.token(asked)),
            _ => answer(404, "<h1>no such page</h1>"),
        }
    }

    fn register(&self, body: &str) -> TestResponse {
        let body: Value = serde_json::from_str(body).unwrap();
        let mut issued = self.issued.lock().unwrap();
        issued.number += 1;
        let id = format!("client-{}", issued.number);
        issued.clients.insert(id.clone(), body["redirect_uris"][0].as_str().unwrap().to_owned());
        json(
            &value!({ "client_id": id, "client_secret": self.secret, "redirect_uris": body["redirect_uris"] }),
        )
    }

    /// Authorizes at once, as if its user agreed.
    fn authorize(&self, origin: &str, query: &BTreeMap<String, String>) -> TestResponse {
        let mut issued = self.issued.lock().unwrap();
        let known = issued.clients.get(&query["client_id"]);
        if known.is_some_and(|known| *known != query["redirect_uri"])
            || query["code_challenge_method"] != "S256"
        {
            return answer(400, "wrong");
        }
        issued.number += 1;
        let code = format!("code-{}", issued.number);
        let scopes = query.get("scope").cloned().unwrap_or_default();
        let of =
            [&query["code_challenge"], &query["client_id"], &query["resource"], &scopes].map(Clone::clone);
        issued.codes.insert(code.clone(), of);
        let mut back = url::Url::parse(&query["redirect_uri"]).unwrap();
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &query["state"]);
        let named_issuer = self.issuer_of_answers.as_deref().unwrap_or(origin);
        back.query_pairs_mut().append_pair("iss", named_issuer);
        answer(302, "").with("Location", back.to_string())
    }

    fn token(&self, asked: &RecordedRequest) -> TestResponse {
        let form = asked.form();
        let refused = |why: &str| {
            let body =
                value!({ "error": why, "error_description": format!("{why}: {:?}", asked.form().values()) });
            answer(400, body.to_string()).with("Content-Type", "application/json")
        };
        if let Some(secret) = self.secret {
            // The secret usually comes as a user name and password.
            let word = asked.headers.get("authorization").map(String::as_str).unwrap_or_default();
            let id = form.get("client_id").cloned().unwrap_or_default();
            if !word.starts_with("Basic ") && form.get("client_secret").map(String::as_str) != Some(secret) {
                return refused(&format!("invalid_client {id}"));
            }
        }
        let mut issued = self.issued.lock().unwrap();
        let (resource, scopes) = match form["grant_type"].as_str() {
            "authorization_code" => {
                let Some([challenge, _, resource, scopes]) = issued.codes.remove(&form["code"]) else {
                    return refused("invalid_grant");
                };
                let verifier = challenge_of(&form["code_verifier"]);
                if verifier != challenge || form["resource"] != resource {
                    return refused("invalid_grant");
                }
                (resource, scopes)
            }
            "refresh_token" if !self.refuses_refresh => {
                // Each refresh token can be used once.
                let Some(of) = issued.refresh.remove(&form["refresh_token"]) else {
                    return refused("invalid_grant");
                };
                if of.0 != form["resource"] {
                    return refused("invalid_target");
                }
                of
            }
            _ => return refused("invalid_grant"),
        };
        issued.number += 1;
        let (token, refresh) =
            (format!("secret-token-{}", issued.number), format!("secret-refresh-{}", issued.number));
        let audience = self.audience.clone().unwrap_or_else(|| resource.clone());
        issued.tokens.insert(token.clone(), (audience, scopes.clone()));
        issued.refresh.insert(refresh.clone(), (resource, scopes.clone()));
        json(&value!({
            "access_token": token, "token_type": "Bearer", "expires_in": self.token_lifetime, "refresh_token": refresh, "scope": scopes,
        }))
    }
}

/// The challenge with which a verifier was announced.
fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// A server of tools that accepts an authority's tokens.
pub(crate) struct ResourceServer {
    /// The fields of its metadata: the authorization servers, and the resource for its own origin.
    pub(crate) authorities: Vec<String>,
    pub(crate) resource: fn(&str) -> String,
    /// The scope that a call needs.
    pub(crate) needs: Option<&'static str>,
    pub(crate) metadata: fn() -> Option<TestResponse>,
}

impl ResourceServer {
    pub(crate) fn of(authority: &TestServer) -> Self {
        Self {
            authorities: vec![authority.origin.clone()],
            resource: |origin| format!("{origin}/mcp"),
            needs: None,
            metadata: || None,
        }
    }

    pub(crate) async fn start(self, authority: Arc<AuthorizationServer>) -> TestServer {
        TestServer::start(move |origin, asked| self.answer(&authority, origin, asked)).await
    }

    fn answer(&self, authority: &AuthorizationServer, origin: &str, asked: &RecordedRequest) -> TestResponse {
        let resource = (self.resource)(origin);
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", "/.well-known/oauth-protected-resource") => (self.metadata)().unwrap_or_else(|| {
                json(&value!({ "resource": resource, "authorization_servers": self.authorities, "scopes_supported": ["read"] }))
            }),
            (_, "/mcp") => {
                let token = asked.headers.get("authorization").and_then(|header| header.strip_prefix("Bearer "));
                match token.and_then(|token| authority.permits(token, &resource).map(|scopes| (token, scopes))) {
                    None => {
                        let pointer = format!("Bearer resource_metadata=\"{origin}/.well-known/oauth-protected-resource\"");
                        answer(401, "no").with("WWW-Authenticate", pointer)
                    }
                    Some((token, scopes)) => self.speak(token, &scopes, asked),
                }
            }
            _ => answer(404, ""),
        }
    }

    fn speak(&self, token: &str, scopes: &str, asked: &RecordedRequest) -> TestResponse {
        if asked.method != "POST" {
            return answer(405, "");
        }
        let message: Value = serde_json::from_str(&asked.body).unwrap();
        let Some(id) = message.get("id") else { return answer(202, "") };
        let result = match message["method"].as_str().unwrap() {
            "initialize" => value!({
                "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "t", "version": "1" },
            }),
            "tools/list" => value!({ "tools": [{ "name": "look", "inputSchema": { "type": "object" } }] }),
            "tools/call" => {
                if let Some(needs) = self.needs
                    && !scopes.split(' ').any(|scope| scope == needs)
                {
                    let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{needs}\"");
                    return answer(403, "").with("WWW-Authenticate", challenge);
                }
                // The answer repeats the token that the server was sent.
                value!({ "content": [{ "type": "text", "text": format!("seen with {token}") }] })
            }
            _ => {
                return json(
                    &value!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "unknown" } }),
                );
            }
        };
        json(&value!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }
}

/// The configuration of a server for a user whose login is stored in this folder.
pub(crate) fn config(address: &str, folder: &Path) -> ServerConfig {
    let login = Some(Login { file: folder.join("login.json"), client: None, scopes: Vec::new() });
    ServerConfig {
        name: ServerName::new("docs").unwrap(),
        connect: Connect::Http { url: address.to_owned(), bearer: None, login, ahead: false },
        trust: Trust::Ask,
        timeout: Duration::from_secs(20),
    }
}
