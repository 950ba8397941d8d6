//! The channel of a secured connection, and what waits until its peer is proved.

use std::time::Duration;

use keytoll_engine::{Ctx, Time};

use keytoll_engine::channel::{Broken, Channel};

/// A channel at work.
#[derive(Debug)]
pub(super) struct Secured {
    channel: Box<dyn Channel>,
    /// Nothing is said to whom nothing is proved of.
    waiting: Vec<u8>,
    /// How often a proof is judged again.
    judge_every: Duration,
    judge_at: Time,
}

impl Secured {
    pub(super) fn new(channel: Box<dyn Channel>, judge_every: Duration) -> Self {
        Self { channel, waiting: Vec::new(), judge_every, judge_at: Time::MAX }
    }

    pub(super) fn take_output(&mut self) -> Vec<u8> {
        self.channel.take_output()
    }

    pub(super) fn proved(&self) -> Option<&[String]> {
        self.channel.proved()
    }

    pub(super) fn is_proved(&self) -> bool {
        self.proved().is_some()
    }

    pub(super) const fn waiting_bytes(&self) -> usize {
        self.waiting.len()
    }

    pub(super) const fn judge_at(&self) -> Time {
        self.judge_at
    }

    /// What a message becomes; nothing as long as it has to wait.
    pub(super) fn send(&mut self, bytes: &[u8], cx: &mut Ctx<'_>) -> Result<Vec<u8>, Broken> {
        if self.is_proved() {
            self.channel.seal(bytes, cx)?;
        } else {
            self.waiting.extend(bytes);
        }
        Ok(self.take_output())
    }

    /// Takes bytes that came; what has waited is sealed as soon as the peer is proved.
    pub(super) fn take(
        &mut self,
        sealed: &[u8],
        clear: &mut Vec<u8>,
        cx: &mut Ctx<'_>,
    ) -> Result<(), Broken> {
        let was_proved = self.is_proved();
        self.channel.unseal(sealed, clear, cx)?;
        if was_proved || !self.is_proved() {
            return Ok(());
        }
        self.judge_at = cx.now + self.judge_every;
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() { Ok(()) } else { self.channel.seal(&waiting, cx) }
    }

    pub(super) fn judge(&mut self, cx: &mut Ctx<'_>) -> Result<(), Broken> {
        self.judge_at = cx.now + self.judge_every;
        self.channel.judge(cx)
    }

    /// What says that nothing more follows.
    pub(super) fn close(&mut self, cx: &mut Ctx<'_>) -> Vec<u8> {
        self.channel.close(cx);
        self.take_output()
    }
}
