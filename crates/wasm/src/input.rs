use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Reads a JSON text that the facade made of the argument `name`.
pub(crate) fn parse<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, Failure> {
    let mut parser = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut parser).map_err(|error| {
        let path = format!("{name}.{}", error.path());
        Failure::input(path, error.into_inner().to_string())
    })
}
