use headstart_forked_query::{CacheSafeParams, ModelRequest, TokenEstimate};

use crate::Window;

/// The room for mentions if the model's window is not known, in bytes.
const MAX_BYTES: u64 = 256 * 1024;

/// How many bytes the mentions of the next prompt may have: half of what the conversation leaves of the model's
/// window.
///
/// `window` is the model's window in tokens, if it is known.
pub fn mention_budget(window: Option<u64>, conversation: &CacheSafeParams) -> usize {
    let left = window.map_or(u64::MAX, |tokens| {
        let spent = TokenEstimate::default().tokens(&ModelRequest {
            model: String::new(),
            system: conversation.system().map(str::to_owned),
            tools: conversation.tools().to_vec(),
            messages: conversation.history().to_vec(),
            thinking: true,
            response_schema: None,
            max_output_tokens: None,
        });
        // Half of the free tokens, at 3.5 bytes each.
        (Window { tokens, ..Window::default() }.max_request_tokens().saturating_sub(spent)).saturating_mul(7)
            / 4
    });
    usize::try_from(left.min(MAX_BYTES)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use headstart_forked_query::{Message, Role};

    use super::*;

    /// The longer a conversation is, the less room mentions have in the window of the model.
    #[test]
    fn a_longer_conversation_leaves_less() {
        let of = |said: &str| CacheSafeParams::new(None, Vec::new(), &[Message::text(Role::User, said)], "m");
        let room = |said: &str| mention_budget(Some(20_000), &of(said));
        assert_eq!(mention_budget(None, &of("x")), 256 * 1024);
        assert!(room(&"word ".repeat(2_000)) < room("x") && room("x") < 256 * 1024);
        assert_eq!(room(&"word ".repeat(200_000)), 0);
    }
}
