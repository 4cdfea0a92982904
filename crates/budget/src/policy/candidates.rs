use super::{Allowance, Experience, Guess, Policy, SkipReason};

impl Policy {
    /// Which of several guesses (best first) to run ahead at the same time, at most `most`, and what each may spend.
    ///
    /// They ask for different work, so each is judged by its own chance. What is left of the day is divided among those
    /// that run, so that together they stay below it.
    pub fn allow_candidates(
        &self,
        experience: &Experience,
        guesses: &[Guess<'_>],
        most: usize,
        now_ms: u64,
    ) -> Vec<Result<Allowance, SkipReason>> {
        let mut running: u32 = 0;
        let mut judged = Vec::with_capacity(guesses.len());
        for guess in guesses {
            let judge = || {
                self.check_text(guess.text)?;
                if most <= running as usize {
                    return Err(SkipReason::Enough { most });
                }
                self.allow(experience, *guess, 1.0, running + 1, now_ms)
            };
            let answer = judge();
            running += u32::from(answer.is_ok());
            judged.push(answer);
        }
        let divided = |(guess, answer): (&Guess<'_>, Result<Allowance, SkipReason>)| {
            answer.and_then(|_| self.allow(experience, *guess, 1.0, running, now_ms))
        };
        guesses.iter().zip(judged).map(divided).collect()
    }
}
