use futures::StreamExt;
use headstart_forked_query::{Message, ModelEvent, ModelRequest, Role};

use super::*;

const RECORDING: &str = r#"{"turns":[{"text":"one"},{"text":"two"}]}"#;

fn config(model: &str, fast: Option<&str>) -> Config {
    Config {
        model: Some(model.parse().unwrap()),
        fast_model: fast.map(|fast| fast.parse().unwrap()),
        ..Config::default()
    }
}

fn request(model: &str) -> ModelRequest {
    ModelRequest {
        model: model.to_owned(),
        system: None,
        tools: Vec::new(),
        messages: vec![Message::text(Role::User, "go")],
        thinking: false,
        response_schema: None,
        max_output_tokens: None,
    }
}

async fn said(model: &dyn Model, name: &str) -> String {
    let mut events = model.stream(&request(name)).await.unwrap();
    let mut text = String::new();
    while let Some(event) = events.next().await {
        if let ModelEvent::Text(piece) = event.unwrap() {
            text += &piece;
        }
    }
    text
}

#[tokio::test]
async fn one_recording_is_played_once_whoever_asks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    fs::write(&file, RECORDING).unwrap();
    let spec = format!("replay:{}", file.display());
    let models = Models::open(&config(&spec, Some(&spec)), &Environment::default(), None).unwrap();
    assert_eq!(said(&*models.main, "x").await, "one");
    assert_eq!(said(&*models.background.model, "x").await, "two");
}

#[tokio::test]
async fn a_recording_of_two_models_has_both_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let spec = |name: &str, text: &str| {
        let file = folder.path().join(name);
        fs::write(&file, format!("{{\"turns\":[{{\"text\":{text:?}}}]}}")).unwrap();
        format!("replay:{}", file.display())
    };
    let (main, fast) = (spec("main.json", "of main"), spec("fast.json", "of fast"));
    let tape = folder.path().join("tape.json");
    let config = config(&main, Some(&fast));
    let models = Models::open(&config, &Environment::default(), Some(&tape)).unwrap();
    assert_eq!(said(&*models.background.model, &models.background.name).await, "of fast");
    assert_eq!(said(&*models.main, &models.main_name).await, "of main");
    models.close().await.unwrap();
    let recording = Recording::parse(&fs::read_to_string(&tape).unwrap()).unwrap();
    let texts: Vec<_> = recording.turns.iter().map(|turn| turn.text.as_str()).collect();
    assert_eq!(texts, ["of fast", "of main"]);
}

#[test]
fn another_server_is_asked_in_the_dialect_that_all_speak() {
    let cases = [
        (Provider::OpenAi, None, Service::openai().wire, KeyRequirement::Required),
        (
            Provider::OpenAi,
            Some("https://eu.api.openai.com/v1"),
            Service::openai().wire,
            KeyRequirement::Optional,
        ),
        (
            Provider::OpenAi,
            Some("http://localhost:8000/v1"),
            Service::compatible("", "").wire,
            KeyRequirement::Optional,
        ),
        (
            Provider::OpenAi,
            Some("http://x/api.openai.com"),
            Service::compatible("", "").wire,
            KeyRequirement::Optional,
        ),
        (
            Provider::Anthropic,
            Some("http://localhost:8000"),
            Service::anthropic().wire,
            KeyRequirement::Optional,
        ),
        (Provider::Gemini, None, Service::gemini().wire, KeyRequirement::Required),
        (
            Provider::Responses,
            Some("https://gateway/v1"),
            Service::responses().wire,
            KeyRequirement::Optional,
        ),
        (Provider::Ollama, None, Service::ollama().wire, KeyRequirement::Optional),
        (
            Provider::DashScope,
            Some("https://intl.example/v1"),
            Service::dashscope().wire,
            KeyRequirement::Optional,
        ),
    ];
    for (provider, url, wire, key) in cases {
        let service = service(provider, url);
        assert_eq!((service.wire, service.key), (wire, key), "{provider:?} {url:?}");
        assert!(url.is_none_or(|url| url == service.base_url));
    }
}

#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.json");
    fs::write(&broken, r#"{"turns":[{"txt":"one"}]}"#).unwrap();
    let error = |config: &Config| match Models::open(config, &Environment::default(), None) {
        Ok(_) => panic!("{config:?} is no model"),
        Err(error) => error.to_string(),
    };
    let cases = [
        (config("replay:/no/such/file", None), "cannot read /no/such/file: "),
        (config(&format!("replay:{}", broken.display()), None), "broken.json: the recording is not valid at"),
        (config("openai:x", None), "openai:x needs a key: set OPENAI_API_KEY"),
        (config("anthropic:x", None), "anthropic:x needs a key: set ANTHROPIC_API_KEY"),
        (config("gemini:x", None), "gemini:x needs a key: set GEMINI_API_KEY"),
        (config("responses:x", None), "responses:x needs a key: set OPENAI_API_KEY"),
        (config("dashscope:x", None), "dashscope:x needs a key: set DASHSCOPE_API_KEY"),
        (Config::default(), "no model is chosen: set --model or HEADSTART_MODEL"),
    ];
    for (config, expected) in cases {
        assert!(error(&config).contains(expected), "{}", error(&config));
    }
}

#[test]
fn a_fork_is_as_long_as_what_the_conversations_own_model_sees() {
    let folder = tempfile::tempdir().unwrap();
    let user = folder.path().join("headstart/config.toml");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::write(&user, "[models.'openai:m']\ncontext_tokens = 200_000\n[models.tiny]\ncontext_tokens = 4096")
        .unwrap();
    let environment: Environment =
        [("XDG_CONFIG_HOME", folder.path().as_os_str()), ("OPENAI_API_KEY", "k".as_ref())]
            .into_iter()
            .map(|(name, value)| (name.into(), value.to_owned()))
            .collect();
    let window = |model: &str| {
        let flags = config::Flags { model: Some(model.parse().unwrap()), ..config::Flags::default() };
        let config = Config::load(&environment, &flags, folder.path()).unwrap();
        Models::open(&config, &environment, None).unwrap().background.limits.window_tokens
    };
    let found =
        ["openai:m", "openai:other", "ollama:tiny", "ollama:other", "ollama:big:120b-cloud"].map(window);
    assert_eq!(found, [Some(200_000), None, Some(4_096), Some(32_768), None]);
}
