//! The cause of an error is in the chain of its sources, and a key never is.

use std::error::Error;
use std::io;

use super::*;

/// The error of this type in the chain of sources of another one.
fn below<E: Error + 'static>(error: &ModelError) -> Option<&E> {
    let mut next = error.source();
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn failure(events: Events) -> ModelError {
    events.into_iter().next_back().unwrap().unwrap_err()
}

/// The error of the system is in the chain of sources, but the address of the request, which may hold a key, is not.
#[tokio::test]
async fn a_refused_connection_is_one_of_the_systems_errors() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let provider = Provider::compatible("test", format!("http://{unused}/v1?key=sk-in-the-address"));
    let error = failure(ask(&client(provider, Duration::from_secs(1))).await);
    assert!(matches!(error, ModelError::Unreachable { .. }), "{error:?}");
    assert_eq!(below::<io::Error>(&error).unwrap().kind(), io::ErrorKind::ConnectionRefused);
    assert!(below::<reqwest::Error>(&error).unwrap().is_connect());
    assert!(!format!("{error:?}").contains("sk-in-the-address"), "{error:?}");
}

/// If a connection breaks, the source is an error of the connection. If the answer just ends, there is none.
#[tokio::test]
async fn a_broken_connection_is_told_from_an_answer_that_ends_early() {
    let broken = failure(against(vec![streaming(), event(HELLO), Step::Raw(b"zz\r\n".to_vec())]).await);
    assert!(matches!(broken, ModelError::Cut { .. }), "{broken:?}");
    assert!(below::<reqwest::Error>(&broken).unwrap().is_decode(), "{broken:?}");

    let ended = failure(against(vec![streaming(), event(HELLO), Step::LastChunk]).await);
    assert!(matches!(ended, ModelError::Cut { .. }), "{ended:?}");
    assert!(ended.source().is_none(), "{ended:?}");

    let dropped = failure(against(vec![Step::Wait(Duration::ZERO)]).await);
    assert!(matches!(dropped, ModelError::Dropped { .. }), "{dropped:?}");
    assert!(below::<reqwest::Error>(&dropped).unwrap().is_request(), "{dropped:?}");
}

/// The error of the JSON reader is in the chain, so that a host can see where the text is wrong.
#[tokio::test]
async fn what_is_no_json_has_the_place_where_it_is_none() {
    let torn = failure(against(vec![streaming(), event(HELLO), event(r#"{"choices": [7"#)]).await);
    assert!(below::<serde_json::Error>(&torn).unwrap().is_eof(), "{torn:?}");

    let of_another_shape = r#"{"choices": "of another shape"}"#;
    let odd = failure(against(vec![streaming(), event(HELLO), event(of_another_shape)]).await);
    assert!(below::<serde_json::Error>(&odd).unwrap().is_data(), "{odd:?}");
}

/// The JSON reader says what it found instead of what it expected. Its message cannot be changed, so it is left out of
/// the chain if it shows the key.
#[tokio::test]
async fn an_error_below_that_shows_the_key_is_left_out() {
    let echo = r#"{"choices": "sk-test-secret"}"#;
    let error = failure(against(vec![streaming(), event(HELLO), event(echo)]).await);
    assert!(matches!(error, ModelError::Malformed { .. }), "{error:?}");
    assert!(error.source().is_none(), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("sk-test-secret"), "{error:?}");
}

#[test]
fn what_is_set_up_wrongly_has_the_error_of_whatever_found_it() {
    let at = |base: &str| {
        HttpModel::new(Provider::compatible("test", base), None, Timeouts::default()).unwrap_err()
    };
    assert_eq!(at("https://host:99999").source().unwrap().to_string(), "invalid port number");
    // This error has no other error as its cause.
    assert!(at("ftp://host").source().is_none());
}
