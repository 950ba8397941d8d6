//! One station at an authenticator: its EAP conversation, and whether it is authorized. Read IEEE 802.1X-2004 §8.2.4, RFC 3748
//! §4.3 and RFC 4137 §6 first.

use std::time::Duration;

use keytoll_engine::{Deadline, Time};

use super::Ended;
use super::eap::{Code, Header};
use super::wep_keys::SessionKeys;
use crate::dot1x::Refused;

/// How EAP requests are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// How long the first waits for its response; each repetition waits twice as long as the one before.
    pub first: Duration,
    /// But no longer than this.
    pub wait_max: Duration,
    /// So often a request is sent in all.
    pub tries: u32,
}

// RFC 3748 §4.3: 3 to 5 retransmissions; the timer is that of RFC 6298, which began with 3 s when this was written, and 20 s at
// most.
impl Default for Retransmission {
    fn default() -> Self {
        Self { first: Duration::from_secs(3), wait_max: Duration::from_secs(20), tries: 5 }
    }
}

impl Retransmission {
    /// How long to wait once a request has been sent so often.
    fn wait(&self, sent: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(sent.saturating_sub(1));
        self.first.saturating_mul(doubled).min(self.wait_max)
    }
}

/// What a station's port waits for.
#[derive(Debug)]
pub(super) enum Wait {
    /// Nothing: the station is authorized.
    Nothing,
    Server(AwaitingServer),
    Response(AwaitingResponse),
    /// The port answers again after a failure.
    Held {
        until: Time,
    },
}

/// Waits for what the EAP server makes of a response.
#[derive(Debug, Clone, Copy)]
pub(super) struct AwaitingServer {
    /// When the conversation began.
    pub(super) since: Time,
    pub(super) until: Time,
}

/// Waits for the station's response.
#[derive(Debug)]
pub(super) struct AwaitingResponse {
    /// When the conversation began.
    pub(super) since: Time,
    identifier: u8,
    request: Vec<u8>,
    sent: u32,
    again_at: Time,
}

/// What is due at a port.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// Send the request again.
    Again(Vec<u8>),
    /// The conversation ends.
    End(Ended),
    /// The port answers again.
    Released,
    /// The station is to authenticate again.
    Reauthenticate,
    /// The station is to get new WEP keys.
    ChangeKeys,
}

/// An authorized station.
#[derive(Debug)]
pub(super) struct Session {
    /// Once EAP has derived keys.
    pub(super) keys: Option<SessionKeys>,
    pub(super) reauthenticate_at: Option<Time>,
    pub(super) change_keys_at: Option<Time>,
}

/// A station's port.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) wait: Wait,
    pub(super) session: Option<Session>,
    /// When the station sent something of use last.
    pub(super) heard_at: Time,
}

impl AwaitingResponse {
    pub(super) fn new(
        since: Time,
        request: Vec<u8>,
        now: Time,
        retransmission: &Retransmission,
    ) -> Result<Self, Refused> {
        let (Header { code: Code::Request, identifier }, _) = Header::read(&request)? else {
            return Err(Refused::Direction);
        };
        Ok(Self { since, identifier, request, sent: 1, again_at: now + retransmission.wait(1) })
    }

    /// Whether this response answers the request.
    // RFC 3748 §4.1: a response with another identifier is discarded.
    pub(super) const fn is_answered_by(&self, header: Header) -> Result<(), Refused> {
        match header.code {
            Code::Response if header.identifier == self.identifier => Ok(()),
            Code::Response => Err(Refused::Identifier),
            Code::Request | Code::Success | Code::Failure => Err(Refused::Direction),
        }
    }

    fn again(&mut self, now: Time, retransmission: &Retransmission) -> Due {
        if self.sent >= retransmission.tries {
            return Due::End(Ended::Unanswered);
        }
        self.sent += 1;
        self.again_at = now + retransmission.wait(self.sent);
        Due::Again(self.request.clone())
    }
}

impl Port {
    /// Whether the station is not answered, for its EAP has failed a while ago.
    pub(super) const fn is_held(&self) -> bool {
        matches!(self.wait, Wait::Held { .. })
    }

    /// When the conversation began, if one is under way.
    pub(super) const fn conversing_since(&self) -> Option<Time> {
        match &self.wait {
            Wait::Server(wait) => Some(wait.since),
            Wait::Response(wait) => Some(wait.since),
            Wait::Nothing | Wait::Held { .. } => None,
        }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        let (at, why) = match &self.wait {
            Wait::Nothing => return self.session_deadline(),
            Wait::Server(wait) => (wait.until, "EAP server"),
            Wait::Response(wait) => (wait.again_at, "EAP retransmission"),
            Wait::Held { until } => (*until, "end of the quiet period"),
        };
        Some(Deadline { at, why })
    }

    fn session_deadline(&self) -> Option<Deadline> {
        let session = self.session.as_ref()?;
        let deadline = |at: Option<Time>, why| at.map(|at| Deadline { at, why });
        Deadline::earlier(
            deadline(session.reauthenticate_at, "EAP reauthentication"),
            deadline(session.change_keys_at, "change of WEP keys"),
        )
    }

    pub(super) fn due(&mut self, now: Time, retransmission: &Retransmission) -> Due {
        if self.deadline().is_none_or(|deadline| deadline.at > now) {
            return Due::Nothing;
        }
        match &mut self.wait {
            Wait::Server(_) => Due::End(Ended::ServerSilent),
            Wait::Response(wait) => wait.again(now, retransmission),
            Wait::Held { .. } => Due::Released,
            Wait::Nothing => match &self.session {
                Some(session) if session.reauthenticate_at.is_some_and(|at| at <= now) => Due::Reauthenticate,
                _ => Due::ChangeKeys,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let retransmission = Retransmission::default();
        let waits = [1, 2, 3, 4, 5, 99].map(|sent| retransmission.wait(sent).as_secs());
        assert_eq!(waits, [3, 6, 12, 20, 20, 20]);
    }
}
