use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use headstart_forked_query::{ToolCall, ToolOutcome};
use headstart_speculation::{CallStage, CallState, Event, Origin};
use headstart_toolbox::Toolbox;

use crate::item::{AppliedWork, CallItem, Item};

/// A change in the list of items. The key of an item is its place in the conversation, counted from 0, and is never
/// used twice.
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
    /// More words of an answer, which is the last item.
    Appended {
        /// Its key.
        key: usize,
        /// The new words.
        text: String,
    },
    /// An item that has changed.
    Changed {
        /// Its key.
        key: usize,
        /// The item as it is now.
        item: Arc<Item>,
    },
    /// The conversation was forgotten: no item is left.
    Cleared,
}

/// The items of a conversation, and what has changed since the changes were taken last.
#[derive(Debug, Default)]
pub(crate) struct Log {
    items: Vec<Arc<Item>>,
    /// The key of the first item.
    first: usize,
    /// The key of the call that was told last, until its result is told.
    open_call: Option<usize>,
    /// The key from which a call without a result may still go on.
    open_from: usize,
    /// The keys of the calls of the current run, by their numbers in it.
    numbers: BTreeMap<usize, usize>,
    /// When what is told now happens, and whose work it belongs to.
    now_ms: u64,
    origin: Origin,
    /// Has the words for calls.
    toolbox: Toolbox,
    changed: BTreeMap<usize, PendingChange>,
    cleared: bool,
}

#[derive(Debug, Clone, Copy)]
enum PendingChange {
    Added,
    /// The answer has grown; whoever takes the changes knows this many bytes of it.
    Appended(usize),
    Changed,
}

impl Log {
    /// A log without items; the toolbox has the words for calls.
    pub(crate) fn new(toolbox: Toolbox) -> Self {
        Self { toolbox, ..Self::default() }
    }

    /// Sets the toolbox that has the words from now on.
    #[cfg(feature = "native")]
    pub(crate) fn set_toolbox(&mut self, toolbox: Toolbox) {
        self.toolbox = toolbox;
    }

    pub(crate) fn items(&self) -> &[Arc<Item>] {
        &self.items
    }

    /// Begins with these items, which are not told as changes. If a tool is offered, its own words are used for its
    /// calls.
    pub(crate) fn restore(&mut self, items: Vec<Item>) {
        let with_words = |mut item: Item| {
            if let Item::Call(call) = &mut item {
                call.update_sentence(&self.toolbox);
            }
            Arc::new(item)
        };
        self.items = items.into_iter().map(with_words).collect();
    }

    pub(crate) fn push(&mut self, item: Item) {
        self.changed.insert(self.first + self.items.len(), PendingChange::Added);
        self.items.push(Arc::new(item));
    }

    /// Takes in what a run tells. A call that is told twice, by the work that stopped at it and by the turn that goes
    /// on, becomes one item.
    pub(crate) fn apply_event(&mut self, event: Event) {
        match event {
            Event::Text { text } => self.append(text),
            Event::ToolCall { call } => self.begin_call(call),
            Event::ToolResult { result, items } => {
                let known = self.find_open(&result.id).or(self.open_call);
                self.open_call = None;
                let (now_ms, wording) = (self.now_ms, self.toolbox.wording(&result.name));
                self.change_call(known, |item| {
                    item.took = item.took.or_else(|| time_since(item.began_ms, now_ms));
                    item.end(result.outcome, items, &wording);
                });
            }
            Event::CallState(state) => self.change_state(state),
            Event::CallOutput { id, end } => {
                let known = self.find_open(&id);
                self.change_call(known, |item| {
                    if item.stage == CallStage::Calling {
                        item.printed = Some(end);
                    }
                });
            }
            Event::Written { changes, git, merged, not_kept } => {
                self.push(Item::Applied(Box::new(AppliedWork::of_turns(changes, git, merged, not_kept))));
            }
            Event::NotKept { problem } => {
                let text = format!("what is not written yet is not kept beyond this program: {problem}");
                self.push(Item::Trouble { text });
            }
            Event::Checked(checked) => self.push(Item::Check(checked)),
            Event::ShadowRan { .. } => self.change_call(self.open_call, |item| item.view = Some(event)),
            _ => {}
        }
    }

    /// Sets the time and the origin of what is told from now on.
    pub(crate) fn set_source(&mut self, now_ms: u64, origin: Origin) {
        (self.now_ms, self.origin) = (now_ms, origin);
    }

    fn begin_call(&mut self, call: ToolCall) {
        let key = match self.find_open(&call.id) {
            Some(key) => key,
            None => self.push_call(call.clone(), CallStage::Calling),
        };
        self.open_call = Some(key);
        let now_ms = self.now_ms;
        self.change_call(Some(key), |item| {
            if item.stage == CallStage::Calling {
                item.began_ms = item.began_ms.or(Some(now_ms));
            }
            item.call = call;
        });
    }

    /// Takes in another state of a call. A state without the call's arguments, of a call that is not known yet, is left
    /// out: the call will be told with its arguments.
    fn change_state(&mut self, state: CallState) {
        let is_whole = matches!(state.stage, CallStage::Generating | CallStage::Generated);
        let known = self.numbers.get(&state.number).copied().or_else(|| self.find_open(&state.id));
        let key = match known {
            Some(key) => key,
            None if is_whole => {
                let call =
                    ToolCall { id: state.id.clone(), name: state.name.clone(), args: state.args.clone() };
                self.push_call(call, state.stage)
            }
            None => return,
        };
        self.numbers.insert(state.number, key);
        let (now_ms, wording) = (self.now_ms, self.toolbox.wording(&state.name));
        self.change_call(Some(key), |item| {
            if !state.id.is_empty() {
                item.call.id = state.id;
            }
            if is_whole && !state.waiting {
                item.call.args = state.args;
            }
            (item.stage, item.waiting, item.origin) = (state.stage, state.waiting, state.origin);
            if state.stage == CallStage::Calling {
                item.began_ms = Some(now_ms);
            } else if state.stage.is_end() {
                item.took = time_since(item.began_ms, now_ms);
                item.printed = None;
            }
            item.sentence = state.stage.sentence(&wording, &item.call.args);
        });
    }

    /// A run begins, which numbers its calls anew.
    pub(crate) fn begin_run(&mut self) {
        self.numbers.clear();
    }

    /// A turn begins that does not go on with a call: the last call without a result stays without one.
    pub(crate) fn close_call(&mut self) {
        self.open_call = None;
        self.open_from = self.first + self.items.len();
    }

    /// A turn is over, so calls that have no end yet end here.
    pub(crate) fn end_calls(&mut self) {
        let is_open = |item: &Arc<Item>| matches!(&**item, Item::Call(call) if !call.stage.is_end());
        let from = self.open_from.saturating_sub(self.first).min(self.items.len());
        let open = (from..self.items.len()).filter(|place| is_open(&self.items[*place]));
        let keys: Vec<_> = open.map(|place| self.first + place).collect();
        for key in keys {
            let (toolbox, now_ms) = (self.toolbox.clone(), self.now_ms);
            self.change_call(Some(key), |item| {
                (item.stage, item.waiting, item.printed) = (CallStage::Canceled, false, None);
                item.took = time_since(item.began_ms, now_ms);
                item.update_sentence(&toolbox);
            });
        }
        self.close_call();
    }

    /// How long the call has been running; `None` if it does not run.
    pub(crate) fn running_for(&self, id: &str) -> Option<Duration> {
        let call = self.open_call(id).filter(|call| call.stage == CallStage::Calling && !call.waiting)?;
        time_since(call.began_ms, self.now_ms)
    }

    /// The end of what the command of a call has printed, if the call runs and has printed something.
    pub(crate) fn printed_by(&self, id: &str) -> Option<&str> {
        self.open_call(id)?.printed.as_deref().filter(|printed| !printed.trim().is_empty())
    }

    fn open_call(&self, id: &str) -> Option<&CallItem> {
        match &**self.items.get(self.find_open(id)?.checked_sub(self.first)?)? {
            Item::Call(call) => Some(call),
            _ => None,
        }
    }

    /// A call was interrupted, and this is what the model reads of it.
    pub(crate) fn interrupt_call(&mut self, id: &str, outcome: ToolOutcome) {
        let (known, toolbox, now_ms) = (self.find_open(id), self.toolbox.clone(), self.now_ms);
        self.change_call(known, |item| {
            (item.stage, item.waiting, item.printed) = (CallStage::Canceled, false, None);
            (item.outcome, item.took) = (Some(outcome), time_since(item.began_ms, now_ms));
            item.update_sentence(&toolbox);
        });
    }

    /// Calls `change` for the lists of applied files, the newest first, until it returns that it has changed one.
    pub(crate) fn change_applied(&mut self, mut change: impl FnMut(&mut AppliedWork) -> bool) {
        for (place, item) in self.items.iter_mut().enumerate().rev() {
            if !matches!(**item, Item::Applied(_)) {
                continue;
            }
            if let Item::Applied(applied) = Arc::make_mut(item)
                && change(applied)
            {
                self.changed.entry(self.first + place).or_insert(PendingChange::Changed);
                return;
            }
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.first += self.items.len();
        self.close_call();
        self.items.clear();
        self.changed.clear();
        self.cleared = true;
    }

    /// What has changed since the last call of this, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<ItemChange> {
        let cleared = std::mem::take(&mut self.cleared).then_some(ItemChange::Cleared);
        let marks = std::mem::take(&mut self.changed);
        let changes = marks.into_iter().filter_map(|(key, change)| {
            let item = self.items.get(key - self.first)?;
            Some(match (change, &**item) {
                (PendingChange::Added, _) => ItemChange::Added { key, item: Arc::clone(item) },
                (PendingChange::Appended(known), Item::Answer { text }) => {
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
                self.changed.entry(key).or_insert(PendingChange::Appended(text.len()));
                text.push_str(&more);
            }
            _ => self.push(Item::Answer { text: more }),
        }
    }

    fn push_call(&mut self, call: ToolCall, stage: CallStage) -> usize {
        let wording = self.toolbox.wording(&call.name);
        self.push(Item::Call(Box::new(CallItem::new(call, stage, self.origin, &wording))));
        self.first + self.items.len() - 1
    }

    /// The call with this id that has no result yet.
    fn find_open(&self, id: &str) -> Option<usize> {
        let from = self.open_from.saturating_sub(self.first).min(self.items.len());
        let is_it = |item: &Arc<Item>| {
            matches!(&**item, Item::Call(call)
                if call.call.id == id && call.outcome.is_none() && call.stage != CallStage::Boundary)
        };
        let place = self.items[from..].iter().rposition(is_it).filter(|_| !id.is_empty())?;
        Some(self.first + from + place)
    }

    fn change_call(&mut self, key: Option<usize>, change: impl FnOnce(&mut CallItem)) {
        let Some(place) = key.and_then(|key| key.checked_sub(self.first)) else { return };
        if let Some(item) = self.items.get_mut(place)
            && let Item::Call(item) = Arc::make_mut(item)
        {
            change(item);
            self.changed.entry(self.first + place).or_insert(PendingChange::Changed);
        }
    }
}

fn time_since(began_ms: Option<u64>, now_ms: u64) -> Option<Duration> {
    Some(Duration::from_millis(now_ms.saturating_sub(began_ms?)))
}

#[cfg(test)]
mod tests;
