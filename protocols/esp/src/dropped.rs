//! Why a packet goes no further: the auditable events of RFC 4301 §5 and RFC 4303 §3, one counter each.

use keytoll_net::wire::DecodeError;

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Dropped {
    /// Too short, or a field that cannot be.
    #[error("malformed: {0}")]
    Malformed(DecodeError),
    /// Inbound: a ciphertext that the cipher's blocks do not allow.
    #[error("ciphertext is not a multiple of the block size")]
    Blocks,
    /// Inbound: RFC 4303 §3.4.2.
    #[error("no SA for this SPI")]
    UnknownSpi,
    /// Inbound: RFC 4303 §3.4.3.
    #[error("replayed packet")]
    Replay,
    /// Inbound: RFC 4303 §3.4.4.
    #[error("integrity check failed")]
    Integrity,
    /// Inbound: authentic, but the padding is not what RFC 4303 §2.4 says.
    #[error("bad padding")]
    Padding,
    /// Inbound: authentic, but not what the SA's mode allows: RFC 4303 §2.6.
    #[error("next header not allowed in this SA")]
    NextHeader,
    /// Inbound: RFC 4301 §5.2, step 4.
    #[error("packet outside the SA's selectors")]
    Selectors,
    /// Inbound: RFC 4301 §5.2, step 3b: the SPD wants protection, and there was none.
    #[error("unprotected packet where protection is demanded")]
    Unprotected,
    /// Inbound: RFC 6040 §4.2: congestion was marked on a packet whose ends do not speak ECN.
    #[error("congestion experienced on a packet without ECN")]
    Congestion,
    /// Inbound: RFC 4303 §2.6: a packet that was made to be thrown away.
    #[error("dummy packet")]
    Dummy,
    /// Both: a fragment where IPsec processes whole packets, RFC 4303 §3.3.4, §3.4.1, RFC 4301 §7.
    #[error("fragment")]
    Fragment,
    /// Outbound: the SPD says so, RFC 4301 §5.1.
    #[error("discarded by policy")]
    Policy,
    /// Outbound: the SPD wants an SA, and there is none.
    #[error("no SA for this packet")]
    NoSa,
    /// Outbound: RFC 4303 §3.3.3.
    #[error("sequence number exhausted")]
    SequenceOverflow,
    /// Both: RFC 4301 §4.4.2.1: a hard lifetime has passed.
    #[error("the SA's lifetime is over")]
    Lifetime,
    /// Both: with its headers the packet would be longer than IP or its buffer allows.
    #[error("packet too long")]
    TooLong,
}

impl Dropped {
    /// The reason as traces name it.
    pub const fn name(self) -> &'static str {
        NAMES[self.index()]
    }

    /// Whether it is nobody's mistake: a dummy packet is to be dropped in silence.
    pub const fn is_silent(self) -> bool {
        matches!(self, Self::Dummy)
    }

    /// Its place in [`Counters`].
    const fn index(self) -> usize {
        match self {
            Self::Malformed(_) | Self::Blocks => 0,
            Self::UnknownSpi => 1,
            Self::Replay => 2,
            Self::Integrity => 3,
            Self::Padding => 4,
            Self::NextHeader => 5,
            Self::Selectors => 6,
            Self::Unprotected => 7,
            Self::Congestion => 8,
            Self::Dummy => 9,
            Self::Fragment => 10,
            Self::Policy => 11,
            Self::NoSa => 12,
            Self::SequenceOverflow => 13,
            Self::Lifetime => 14,
            Self::TooLong => 15,
        }
    }
}

const NAMES: [&str; 16] = [
    "esp: malformed",
    "esp: no SA for this SPI",
    "esp: replayed packet",
    "esp: integrity check failed",
    "esp: bad padding",
    "esp: next header not allowed",
    "esp: packet outside the SA's selectors",
    "esp: unprotected packet",
    "esp: congestion marked without ECN",
    "esp: dummy packet",
    "esp: fragment",
    "esp: discarded by policy",
    "esp: no SA for this packet",
    "esp: sequence number exhausted",
    "esp: lifetime over",
    "esp: packet too long",
];

/// How many packets were dropped for which reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters([u64; NAMES.len()]);

impl Counters {
    /// How many packets were dropped for this reason.
    pub const fn of(&self, why: Dropped) -> u64 {
        self.0[why.index()]
    }

    /// Every reason that occurred, by its name in traces, with how often it did.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        NAMES.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    pub(crate) const fn count(&mut self, why: Dropped) {
        self.0[why.index()] += 1;
    }
}
