use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream;
use headstart_forked_query::{EventStream, Model, ModelError, ModelEvent, ModelRequest};

use crate::exchange::{event_from_json, request_to_json};
use crate::failure::Failure;
use crate::port::{Answers, Callbacks};

/// The developer's model.
pub(crate) struct PortModel(pub(crate) Arc<Callbacks>);

#[async_trait]
impl Model for PortModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        let answers = self.0.ask(&request_to_json(request));
        let events = stream::unfold(Some(answers), async |answers| {
            let mut answers = answers?;
            let event = next(&mut answers).await?;
            // After an error nothing follows.
            let rest = event.is_ok().then_some(answers);
            Some((event, rest))
        });
        Ok(events.boxed())
    }
}

async fn next(answers: &mut Answers) -> Option<Result<ModelEvent, ModelError>> {
    let answer = answers.next().await;
    let in_words = |Failure { message, .. }| ModelError::Other { message };
    match answer {
        Ok(text) => Some(event_from_json(&text?).map_err(|failure| {
            in_words(Failure {
                message: format!("the model gave an event that is none: {}", failure.message),
                ..failure
            })
        })),
        Err(failure) => Some(Err(in_words(failure))),
    }
}
