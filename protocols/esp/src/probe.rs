//! Where the time of a packet goes: the stages of RFC 4301 §5 and RFC 4303 §3.3, §3.4, told to whoever wants to know.

/// A step of processing. Outbound and inbound steps come in the order in which they are written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Outbound: what the packet is (its selectors), and what the SPD says about it.
    PolicyLookup,
    /// Outbound: the SA for it. Inbound: the SA of the SPI.
    SaLookup,
    /// Outbound: sequence number, lifetimes, ESP header, IV, padding.
    Header,
    /// Outbound: encryption; with an AEAD, integrity too.
    Encrypt,
    /// Outbound: the integrity check value of a separate algorithm.
    Authenticate,
    /// Outbound: the headers in front of ESP.
    Encapsulate,
    /// Inbound: whether the sequence number is new, and afterwards that it was seen.
    ReplayCheck,
    /// Inbound: the integrity check value of a separate algorithm.
    Verify,
    /// Inbound: decryption; with an AEAD, integrity too.
    Decrypt,
    /// Inbound: padding, and the headers around the payload.
    Decapsulate,
    /// Inbound: whether what came out is what the SA is for.
    SelectorCheck,
}

impl Stage {
    /// Every stage of what leaves, in order.
    pub const OUTBOUND: [Self; 6] = [
        Self::PolicyLookup,
        Self::SaLookup,
        Self::Header,
        Self::Encrypt,
        Self::Authenticate,
        Self::Encapsulate,
    ];

    /// Every stage of what arrives, in order.
    pub const INBOUND: [Self; 6] = [
        Self::SaLookup,
        Self::ReplayCheck,
        Self::Verify,
        Self::Decrypt,
        Self::Decapsulate,
        Self::SelectorCheck,
    ];

    /// The name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PolicyLookup => "policy lookup",
            Self::SaLookup => "SA lookup",
            Self::Header => "header",
            Self::Encrypt => "encrypt",
            Self::Authenticate => "authenticate",
            Self::Encapsulate => "encapsulate",
            Self::ReplayCheck => "replay check",
            Self::Verify => "verify",
            Self::Decrypt => "decrypt",
            Self::Decapsulate => "decapsulate",
            Self::SelectorCheck => "selector check",
        }
    }
}

/// Is told when a stage ends; the next one begins there. A stage may end twice for one packet, and one that an algorithm
/// does not need ends at once.
///
/// Packets that are dropped end no further stage. Whoever measures reads the clock before the packet and at each call;
/// `()` measures nothing and costs nothing.
pub trait Probe {
    /// A stage has ended.
    fn ended(&mut self, stage: Stage);
}

impl Probe for () {
    #[inline(always)]
    fn ended(&mut self, _: Stage) {}
}
