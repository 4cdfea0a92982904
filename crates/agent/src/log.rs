use std::collections::BTreeMap;
use std::sync::Arc;

use headstart_forked_query::ToolCall;
use headstart_speculation::Event;

use crate::item::{Applied, CallItem, Item};

/// What has changed in the list of items. The key of an item is its place in the conversation, counted from 0 and never given twice.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ItemChange {
    /// A new item at the end.
    Added {
        /// Its key.
        key: usize,
        /// The item.
        item: Arc<Item>,
    },
    /// More words of the answer that is the last item.
    Appended {
        /// Its key.
        key: usize,
        /// The new words.
        text: String,
    },
    /// Another state of an item.
    Changed {
        /// Its key.
        key: usize,
        /// The item as it is now.
        item: Arc<Item>,
    },
    /// The conversation was forgotten: no item is left.
    Cleared,
}

/// The items of a conversation, and what has changed since somebody looked last.
#[derive(Debug, Default)]
pub(crate) struct Log {
    items: Vec<Arc<Item>>,
    /// The key of the first item.
    first: usize,
    /// The id of the call that was told last, until its result is told.
    open_call: Option<String>,
    changed: BTreeMap<usize, Change>,
    cleared: bool,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Added,
    /// So many bytes of an answer are known to whoever looks.
    Appended(usize),
    Changed,
}

impl Log {
    pub(crate) fn items(&self) -> &[Arc<Item>] {
        &self.items
    }

    /// Begins with these, which whoever looks for changes is not told of.
    pub(crate) fn restore(&mut self, items: Vec<Item>) {
        self.items = items.into_iter().map(Arc::new).collect();
    }

    pub(crate) fn push(&mut self, item: Item) {
        self.changed.insert(self.first + self.items.len(), Change::Added);
        self.items.push(Arc::new(item));
    }

    /// Takes in what a run tells. A call that is told twice, by the work that stopped at it and by the turn that goes on, is one item.
    pub(crate) fn tell(&mut self, event: Event) {
        match event {
            Event::Text { text } => self.append(text),
            Event::ToolCall { call } => self.begin_call(call),
            Event::ToolResult { result } => {
                self.open_call = None;
                self.change_call(|item| item.outcome = Some(result.outcome));
            }
            Event::Checked(checked) => self.push(Item::Check(checked)),
            Event::ShadowRan { .. } => self.change_call(|item| item.view = Some(event)),
            _ => {}
        }
    }

    fn begin_call(&mut self, call: ToolCall) {
        if self.open_call.replace(call.id.clone()).as_ref() != Some(&call.id) {
            self.push(Item::Call(Box::new(CallItem { call, view: None, outcome: None })));
        }
    }

    /// A turn begins that goes on with no call: what was told last without a result stays so.
    pub(crate) fn close_call(&mut self) {
        self.open_call = None;
    }

    /// Changes the list of applied files that `change` says it has changed, the newest first.
    pub(crate) fn change_applied(&mut self, mut change: impl FnMut(&mut Applied) -> bool) {
        for (place, item) in self.items.iter_mut().enumerate().rev() {
            if !matches!(**item, Item::Applied(_)) {
                continue;
            }
            if let Item::Applied(applied) = Arc::make_mut(item)
                && change(applied)
            {
                self.changed.entry(self.first + place).or_insert(Change::Changed);
                return;
            }
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.first += self.items.len();
        self.items.clear();
        self.changed.clear();
        self.cleared = true;
    }

    /// What has changed since this was called last, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<ItemChange> {
        let cleared = std::mem::take(&mut self.cleared).then_some(ItemChange::Cleared);
        let marks = std::mem::take(&mut self.changed);
        let changes = marks.into_iter().filter_map(|(key, change)| {
            let item = self.items.get(key - self.first)?;
            Some(match (change, &**item) {
                (Change::Added, _) => ItemChange::Added { key, item: Arc::clone(item) },
                (Change::Appended(known), Item::Answer { text }) => {
                    ItemChange::Appended { key, text: text[known..].to_owned() }
                }
                _ => ItemChange::Changed { key, item: Arc::clone(item) },
            })
        });
        cleared.into_iter().chain(changes).collect()
    }

    fn append(&mut self, more: String) {
        let key = (self.first + self.items.len()).wrapping_sub(1);
        match self.items.last_mut().map(Arc::make_mut) {
            Some(Item::Answer { text }) => {
                self.changed.entry(key).or_insert(Change::Appended(text.len()));
                text.push_str(&more);
            }
            _ => self.push(Item::Answer { text: more }),
        }
    }

    /// Changes the last call: calls and their results come in pairs.
    fn change_call(&mut self, change: impl FnOnce(&mut CallItem)) {
        let Some(place) = self.items.iter().rposition(|item| matches!(**item, Item::Call(_))) else { return };
        if let Item::Call(item) = Arc::make_mut(&mut self.items[place]) {
            change(item);
            self.changed.entry(self.first + place).or_insert(Change::Changed);
        }
    }
}

#[cfg(test)]
mod tests;
