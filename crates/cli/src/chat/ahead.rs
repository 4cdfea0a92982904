use std::task::{Context, Poll};

use futures::channel::mpsc;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use headstart_budget::RunMeter;
use headstart_speculation::{Event, Events, Speculation, Status};

use super::card::Card;
use crate::clock;

/// The speculation behind the suggestion, with what it has told so far, and the steps on top of it.
pub(super) struct Ahead {
    pub(super) speculation: Speculation,
    pub(super) events: Events,
    /// In order; shown only when the user takes the work.
    pub(super) told: Vec<Event>,
    card: Card,
    /// Whether there is nothing more to tell.
    pub(super) ended: bool,
    pub(super) meter: RunMeter,
    /// The next step, which runs on top of this one.
    pub(super) above: Option<Box<Ahead>>,
    /// Gives the next step, until it is known whether there is one.
    rising: Option<BoxFuture<'static, Option<Speculation>>>,
}

impl Ahead {
    pub(super) fn new(speculation: Speculation, events: Events) -> Self {
        let meter = RunMeter::new(clock::unix_ms(), speculation.id());
        let below = speculation.clone();
        let rising = Some(async move { below.above().await }.boxed());
        let (told, card) = (Vec::new(), Card::default());
        Self { speculation, events, told, card, ended: false, meter, above: None, rising }
    }

    /// A step that the engine started on top of another.
    pub(super) fn of_step(speculation: Speculation) -> Box<Self> {
        // Events that somebody else took are events that are over.
        let events = speculation.events().unwrap_or_else(|| mpsc::unbounded().1);
        Box::new(Self::new(speculation, events))
    }

    /// Takes in the next thing that it or a step above tells, and is ready when there was one.
    pub(super) fn poll_told(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.ended
            && let Poll::Ready(told) = self.events.poll_next_unpin(context)
        {
            match told {
                Some(event) => {
                    self.card.tell(&event, || self.speculation.changes().summary());
                    self.told.push(event);
                }
                None => self.ended = true,
            }
            return Poll::Ready(());
        }
        if let Some(rising) = &mut self.rising
            && let Poll::Ready(above) = rising.poll_unpin(context)
        {
            self.rising = None;
            self.above = above.map(Self::of_step);
            return Poll::Ready(());
        }
        self.above.as_mut().map_or(Poll::Pending, |above| above.poll_told(context))
    }

    /// It and the steps above, the lowest first.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |step| step.above.as_deref())
    }

    /// A line for the status above the prompt.
    pub(super) fn status(&self) -> String {
        let finished = self.speculation.finished().now_or_never();
        let here = self.card.row(finished.as_deref());
        let above = self.steps().skip(1).count();
        let working = self.steps().skip(1).any(|step| step.speculation.status() == Status::Running);
        match (above, if working { "at work" } else { "ready" }) {
            (0, _) => here,
            (1, word) => format!("{here}; next step {word}"),
            (_, word) => format!("{here}; next {above} steps {word}"),
        }
    }
}
