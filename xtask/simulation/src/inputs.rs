//! The inputs of the simulated world: distributions, each with its source.

use crate::random::{Quantiles, Random};

/// A trace of coding agents at work, which the University of Washington published in 2026 (see the report).
pub(crate) const TRACE: &str = "trace";

/// One input of the simulation.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) quantiles: Quantiles,
    /// [`TRACE`], or a sentence that says what it is based on or why it was assumed.
    pub(crate) source: &'static str,
}

/// The number of answers in a turn that call tools. The last answer, which calls none, is not counted.
pub(crate) const ANSWERS_WITH_CALLS: Input = Input {
    name: "answers of a turn that call tools",
    unit: "",
    quantiles: Quantiles(&[
        (0.0, 0.0),
        (0.25, 0.0),
        (0.5, 1.0),
        (0.75, 5.0),
        (0.9, 20.0),
        (0.99, 86.0),
        (1.0, 86.0),
    ]),
    source: "trace; 75 % is set so that the mean is near the published one, 7.8",
};

pub(crate) const CALLS_OF_AN_ANSWER: Input = Input {
    name: "calls of such an answer",
    unit: "",
    quantiles: Quantiles(&[(0.0, 1.0), (0.5, 1.0), (0.9, 2.0), (0.99, 4.0), (1.0, 4.0)]),
    source: TRACE,
};

/// The time from the request to the last word of the answer.
pub(crate) const ANSWER_TIME: Input = Input {
    name: "time of one answer of the model",
    unit: "s",
    quantiles: Quantiles(&[
        (0.0, 1.0),
        (0.1, 2.0),
        (0.5, 5.7),
        (0.75, 11.0),
        (0.9, 22.2),
        (0.99, 75.0),
        (1.0, 75.0),
    ]),
    source: "trace for 50 % and 90 %; the others are set so that the mean is near the published one, 11.5 s",
};

/// The part of that time before the first word.
pub(crate) const FIRST_TOKEN_PART: f64 = 0.4;

/// How fast words follow after the first one. With the part above, the mean answer has 520 tokens, as in the trace.
pub(crate) const TOKENS_PER_SECOND: f64 = 72.0;

pub(crate) const READING_COMMAND_TIME: Input = Input {
    name: "time of a command that only reads",
    unit: "s",
    quantiles: Quantiles(&[(0.0, 0.02), (0.5, 0.3), (0.9, 3.0), (1.0, 20.0)]),
    source: "the median is that of all calls in the trace; the ends are assumed",
};

pub(crate) const OTHER_COMMAND_TIME: Input = Input {
    name: "time of a command that does more (build, test)",
    unit: "s",
    quantiles: Quantiles(&[(0.0, 0.3), (0.5, 13.6), (0.75, 40.0), (0.9, 120.0), (1.0, 600.0)]),
    source: "set so that a tenth of all calls takes longer than 13.6 s and the mean call 14 s, as in the trace",
};

/// The parts of the calls that read files, write files, and run commands that only read. The other calls need the user.
pub(crate) const FILE_READS: f64 = 0.35;
pub(crate) const FILE_WRITES: f64 = 0.2;
pub(crate) const READING_COMMANDS: f64 = 0.25;

/// The time from the end of a turn to the next prompt, if the user types it.
pub(crate) const THINKING: Input = Input {
    name: "time from the end of a turn to the next typed prompt",
    unit: "s",
    quantiles: Quantiles(&[
        (0.0, 5.0),
        (0.1, 15.0),
        (0.5, 84.0),
        (0.75, 300.0),
        (0.9, 1_236.0),
        (1.0, 3_600.0),
    ]),
    source: "trace for 50 % and 90 %; cut at an hour",
};

/// The time from the end of a turn to Tab, if the suggestion is what the user wants.
pub(crate) const READING: Input = Input {
    name: "time from the end of a turn to Tab",
    unit: "s",
    quantiles: Quantiles(&[(0.0, 2.0), (0.1, 4.0), (0.5, 15.0), (0.9, 60.0), (1.0, 120.0)]),
    source: "assumed: 16, 60 and 240 words, read at 238 words a minute (Brysbaert 2019); never longer than typing would take",
};

/// How long before sending a prompt the user begins to type it, in seconds.
pub(crate) const TYPING_SECONDS: f64 = 10.0;

pub(crate) const SUGGESTION_TIME: Input = Input {
    name: "time of the query for a suggestion",
    unit: "s",
    quantiles: Quantiles(&[(0.0, 0.7), (0.1, 1.0), (0.5, 2.1), (0.9, 4.2), (1.0, 8.0)]),
    source: "first-token times of hourly probes of 15 models (jonathanwrede.de, 2026: medians 0.3 to 4.2 s); the answer is one line",
};

pub(crate) const ALL: [&Input; 8] = [
    &ANSWERS_WITH_CALLS,
    &CALLS_OF_AN_ANSWER,
    &ANSWER_TIME,
    &READING_COMMAND_TIME,
    &OTHER_COMMAND_TIME,
    &THINKING,
    &READING,
    &SUGGESTION_TIME,
];

/// Tokens of the system's instruction and of the tools.
pub(crate) const BASE_TOKENS: u64 = 20_000;
/// Tokens that the result of a call adds (trace: 652 at the median of all steps).
pub(crate) const RESULT_TOKENS: u64 = 650;
/// Tokens that an answer of the model adds.
pub(crate) const ANSWER_TOKENS: u64 = 250;
/// The part of a request that the provider has cached, for the first request of a turn and for later ones (trace).
pub(crate) const CACHED_FIRST: f64 = 0.856;
pub(crate) const CACHED_LATER: f64 = 0.976;

pub(crate) const TURNS_OF_A_SESSION: usize = 10;
pub(crate) const SESSIONS: usize = 40;
pub(crate) const SESSIONS_OF_A_DAY: usize = 12;
pub(crate) const FILES: u64 = 40;

impl Input {
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        self.quantiles.at(random.next())
    }
}
