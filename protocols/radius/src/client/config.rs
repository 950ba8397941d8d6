//! The configuration of a client: its ports, its server, its timers. RFC 2865 §3, RFC 5080 §2.2.1.

use std::net::IpAddr;
use std::time::Duration;

use keytoll_crypto_api::{Rng, Secret};
use keytoll_net::Socket;

/// A client of one server.
#[derive(Debug, Clone)]
pub struct Config {
    /// The source address of requests.
    pub local: IpAddr,
    /// The source ports of requests, with up to 256 outstanding requests each; a port is used only when all before it are full. The
    /// driver must deliver datagrams to any of them. Over streams each is the name of a connection, and all are used alike.
    pub ports: Vec<u16>,
    /// The server.
    pub server: Server,
    /// Sent as NAS-Identifier in every request, 1 to 253 bytes.
    pub nas_identifier: String,
    /// When requests are repeated.
    pub retransmission: Retransmission,
}

impl Config {
    /// At least so many requests may be outstanding for one peer.
    const PER_PEER_MIN: usize = 32;

    // RFC 2865 §5: a port has 256 identifiers; one peer with slow answers, or many requests, must not occupy all of them.
    /// The maximum number of outstanding requests for one peer: an eighth of all.
    pub(super) fn per_peer_max(&self) -> usize {
        (self.ports.len() * 256 / 8).max(Self::PER_PEER_MIN)
    }
}

/// A server and the secret shared with it.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its port for Access-Requests.
    pub authentication: Socket,
    /// Its port for Accounting-Requests, which must differ from that for authentication.
    pub accounting: Socket,
    /// The shared secret.
    pub secret: Secret,
}

impl Server {
    /// RFC 2865 §3: the port for authentication.
    pub const AUTHENTICATION_PORT: u16 = 1812;
    /// RFC 2866 §3: the port for accounting.
    pub const ACCOUNTING_PORT: u16 = 1813;

    /// A server on the usual ports.
    pub const fn new(ip: IpAddr, secret: Secret) -> Self {
        let authentication = Socket::new(ip, Self::AUTHENTICATION_PORT);
        Self { authentication, accounting: authentication.at_port(Self::ACCOUNTING_PORT), secret }
    }
}

/// When a request is retransmitted, and when given up, in the variables of RFC 5080 §2.2.1.
// RFC 5080 §2.2.1: accounting requests would be retransmitted for ever; here they are given up like others, so that the client's
// state stays bounded, and the owner is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// IRT: the first wait.
    pub initial: Duration,
    /// MRT: the longest wait, before jitter.
    pub interval_max: Duration,
    /// MRC: how often a request is sent at most, including the first time.
    pub count_max: u32,
    /// MRD: how long after the first transmission a request is given up.
    pub duration_max: Duration,
}

impl Default for Retransmission {
    /// RFC 5080 §2.2.1: IRT 2 s, MRT 16 s, MRC 5, MRD 30 s.
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(2),
            interval_max: Duration::from_secs(16),
            count_max: 5,
            duration_max: Duration::from_secs(30),
        }
    }
}

impl Retransmission {
    /// The wait after the first transmission: IRT + RAND·IRT.
    pub(super) fn first(&self, rng: &mut Rng) -> Duration {
        jittered(self.initial, self.initial, rng)
    }

    /// The wait after the next one: 2·RTprev + RAND·RTprev, or MRT + RAND·MRT if that is less.
    pub(super) fn next(&self, previous: Duration, rng: &mut Rng) -> Duration {
        let doubled = jittered(previous * 2, previous, rng);
        if doubled > self.interval_max {
            jittered(self.interval_max, self.interval_max, rng)
        } else {
            doubled
        }
    }
}

/// RFC 5080 §2.2.1: RAND is uniform between -0.1 and +0.1.
fn jittered(base: Duration, of: Duration, rng: &mut Rng) -> Duration {
    let tenth = u64::try_from(of.as_nanos() / 10).unwrap_or(u64::MAX / 4);
    let offset = Duration::from_nanos(rng.below(2 * tenth + 1));
    (base + offset).saturating_sub(Duration::from_nanos(tenth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_with_a_tenth_of_jitter_up_to_the_longest() {
        let (timers, mut rng) = (Retransmission::default(), Rng::named(1, "jitter"));
        let mut seen = [Duration::MAX, Duration::ZERO];
        for _ in 0..1000 {
            let first = timers.first(&mut rng);
            seen = [seen[0].min(first), seen[1].max(first)];
            let mut wait = first;
            for _ in 0..4 {
                let next = timers.next(wait, &mut rng);
                let longest = timers.interval_max.mul_f64(1.1);
                assert!(
                    next <= longest
                        && (next >= wait.mul_f64(1.9) || next >= timers.interval_max.mul_f64(0.9))
                );
                wait = next;
            }
        }
        assert!(seen[0] >= Duration::from_millis(1800) && seen[0] < Duration::from_millis(1810), "{seen:?}");
        assert!(seen[1] <= Duration::from_millis(2200) && seen[1] > Duration::from_millis(2190), "{seen:?}");
    }
}
