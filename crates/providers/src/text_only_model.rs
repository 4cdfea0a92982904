use std::sync::Arc;

use async_trait::async_trait;
use headstart_forked_query::{EventStream, Message, Model, ModelError, ModelRequest, Part};

/// A model without images: words replace those of the conversation, so that the conversation can go on with another
/// model than it began with.
pub struct TextOnlyModel(Arc<dyn Model>);

impl TextOnlyModel {
    /// Wraps a model.
    pub fn new(model: Arc<dyn Model>) -> Self {
        Self(model)
    }
}

/// What stands for an image.
const PLACEHOLDER: &str = "\n\n[an image, which you cannot see]";

#[async_trait]
impl Model for TextOnlyModel {
    async fn stream(&self, request: &ModelRequest) -> Result<EventStream, ModelError> {
        if request.messages.iter().all(|message| message.images().next().is_none()) {
            return self.0.stream(request).await;
        }
        let messages = request.messages.iter().map(without_images).collect();
        self.0.stream(&ModelRequest { messages, ..request.clone() }).await
    }
}

fn without_images(message: &Message) -> Message {
    let parts = message.parts.iter().map(|part| match part {
        Part::Image(_) => Part::Text { text: PLACEHOLDER.to_owned() },
        part => part.clone(),
    });
    Message { role: message.role, parts: parts.collect() }
}
