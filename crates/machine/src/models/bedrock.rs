//! Models of Amazon Bedrock, with the environment variables that AWS's own programs read.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use headstart_providers::{ApiKey, AwsKeys, HttpModel, Provider as Service};

use super::dialect;
use crate::config::Config;
use crate::environment::Environment;
use crate::error::CliError;
use crate::model_spec::ModelSpec;

const BEARER: &str = "AWS_BEARER_TOKEN_BEDROCK";

/// A model. Requests use a key of Bedrock's own if there is one, and are otherwise signed with the account's keys.
pub(super) fn open(
    spec: &ModelSpec,
    base_url: Option<&str>,
    config: &Config,
    environment: &Environment,
) -> Result<HttpModel, CliError> {
    let region = region(environment)?;
    let service = Service::bedrock(&region);
    let service = base_url.map_or_else(|| service.clone(), |url| service.clone().with_base_url(url));
    let service = dialect::with_dialect(service, spec, config, environment)?;
    let bearer = text(environment, BEARER)?.map(ApiKey::new);
    let keys = match bearer {
        Some(_) => None,
        None => Some(AwsKeys {
            access_key_id: needed(environment, "AWS_ACCESS_KEY_ID", spec)?,
            secret_access_key: needed(environment, "AWS_SECRET_ACCESS_KEY", spec)?,
            session_token: text(environment, "AWS_SESSION_TOKEN")?.map(str::to_owned),
            region,
        }),
    };
    let model = HttpModel::new(service, bearer, config.requests.timeouts)?.with_call_fragments();
    let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Ok(match keys {
        Some(keys) => model.signed(keys, Arc::new(clock)),
        None => model,
    })
}

fn region(environment: &Environment) -> Result<String, CliError> {
    for variable in ["AWS_REGION", "AWS_DEFAULT_REGION"] {
        let Some(region) = text(environment, variable)? else { continue };
        if region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
            return Ok(region.to_owned());
        }
        let message = format!("{region:?} is no region; it looks like us-east-1");
        return Err(CliError::Environment { variable: variable.to_owned(), message });
    }
    let message =
        "is not set, and Bedrock has an address in each region; set it to one, us-east-1 for example"
            .to_owned();
    Err(CliError::Environment { variable: "AWS_REGION".to_owned(), message })
}

fn needed(environment: &Environment, variable: &str, spec: &ModelSpec) -> Result<String, CliError> {
    if let Some(value) = text(environment, variable)? {
        return Ok(value.to_owned());
    }
    let message = format!(
        "is not set, and {spec} needs it: requests are signed with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN, where \
         they are for a while only); a key of Bedrock's own goes into {BEARER} instead"
    );
    Err(CliError::Environment { variable: variable.to_owned(), message })
}

/// The value of a variable; `None` if it is blank.
fn text<'a>(environment: &'a Environment, variable: &str) -> Result<Option<&'a str>, CliError> {
    Ok(environment.text(variable)?.map(str::trim).filter(|value| !value.is_empty()))
}
