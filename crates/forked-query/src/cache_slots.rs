use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::CacheSafeParams;

/// Keeps the cache-safe parameters of every session, in one slot each.
///
/// The host names the sessions. A slot never returns what belongs to another session.
#[derive(Debug, Default)]
pub struct CacheSlots {
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    sessions: HashMap<String, CacheSafeParams>,
    version: u64,
}

impl CacheSlots {
    /// Puts a snapshot into the session's slot and returns it with its version: the same one as before, or a new one
    /// if system instruction or tools changed or the slot was empty. Call it after each successful main turn.
    pub fn save(&self, session: &str, params: CacheSafeParams) -> CacheSafeParams {
        let mut slots = self.lock();
        let before = slots.sessions.get(session);
        let version = match before.filter(|before| before.configuration() == params.configuration()) {
            Some(before) => before.version(),
            None => slots.version + 1,
        };
        slots.version = slots.version.max(version);
        let params = params.with_version(version);
        slots.sessions.insert(session.to_owned(), params.clone());
        params
    }

    /// The session's snapshot, if a turn was saved since it began.
    pub fn get(&self, session: &str) -> Option<CacheSafeParams> {
        self.lock().sessions.get(session).cloned()
    }

    /// Empties the slot. Call it when a chat begins, is reset, resumed, or ends.
    pub fn clear(&self, session: &str) {
        self.lock().sessions.remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        // Every change under the lock is a single step, so a panic in another thread leaves nothing half done.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tools;
    use crate::{Message, Role};

    fn params(system: &str, history: &str) -> CacheSafeParams {
        CacheSafeParams::new(Some(system.into()), tools(), &[Message::text(Role::User, history)], "m")
    }

    #[test]
    fn sessions_are_apart() {
        let slots = CacheSlots::default();
        let of_a = slots.save("a", params("s", "secret of a"));
        assert_eq!(slots.get("b"), None);
        let of_b = slots.save("b", params("s", "of b"));
        assert!(of_a.version() < of_b.version(), "an empty slot gets a version of its own");
        assert_eq!(slots.get("a").unwrap().history()[0].to_text(), "secret of a");
        slots.clear("a");
        assert_eq!(slots.get("a"), None);
        assert!(slots.get("b").is_some());
    }

    #[test]
    fn the_version_rises_with_the_configuration_only() {
        let slots = CacheSlots::default();
        let first = slots.save("a", params("s", "1")).version();
        assert_eq!(slots.save("a", params("s", "2")).version(), first);
        let changed = slots.save("a", params("other", "3")).version();
        assert!(first < changed);
        slots.clear("a");
        let after_clear = slots.save("a", params("other", "4")).version();
        assert!(changed < after_clear);
        let mut fewer = tools();
        fewer.pop();
        let fewer = CacheSafeParams::new(Some("other".into()), fewer, &[], "m");
        assert!(after_clear < slots.save("a", fewer).version());
        assert_eq!(slots.get("a").unwrap().version(), after_clear + 1);
    }
}
