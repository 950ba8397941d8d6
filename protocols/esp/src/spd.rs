//! The security policy database, RFC 4301 §4.4.1: what happens to which packet, the first policy that fits decides.

use crate::selector::{Flow, Selectors};

/// What happens to a packet. RFC 4301 §4.4.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It goes through an SA, or not at all.
    Protect,
    /// It passes as it is.
    Bypass,
    /// It passes neither way.
    Discard,
}

/// A line of the SPD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// For which packets.
    pub selectors: Selectors,
    /// What happens to them.
    pub action: Action,
}

/// The SPD.
#[derive(Debug, Clone)]
pub struct Spd {
    policies: Vec<Policy>,
    otherwise: Action,
}

impl Default for Spd {
    /// Everything is protected: what has no SA does not leave.
    fn default() -> Self {
        Self { policies: Vec::new(), otherwise: Action::Protect }
    }
}

impl Spd {
    /// Policies in the order in which they are asked, and what happens to packets that none is for.
    // RFC 4301 §4.4.1: the nominal final entry discards; a host whose SAs bring their own selectors wants `Protect`.
    pub const fn new(policies: Vec<Policy>, otherwise: Action) -> Self {
        Self { policies, otherwise }
    }

    /// What happens to a packet that leaves.
    pub fn outbound(&self, flow: &Flow) -> Action {
        self.first(|policy| policy.selectors.cover_outbound(flow))
    }

    /// What happens to a packet that arrived without protection.
    pub fn inbound(&self, flow: &Flow) -> Action {
        self.first(|policy| policy.selectors.cover_inbound(flow))
    }

    fn first(&self, fits: impl Fn(&Policy) -> bool) -> Action {
        self.policies.iter().find(|policy| fits(policy)).map_or(self.otherwise, |policy| policy.action)
    }
}
