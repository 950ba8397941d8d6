//! IKEv2 as the carrier of EAP: a conversation is an IKE SA. RFC 7296 §2.16.

use keytoll_ike::SaId;

use crate::eap::{Carrier, Conversation, Eap};

impl Carrier {
    /// IKE_AUTH, in which the gateway authenticates itself before EAP starts.
    pub(crate) const IKE: Self = Self { is_reliable: true, proves_server: true };
}

impl Conversation for SaId {
    fn number(self) -> u64 {
        self.0
    }

    fn of_number(number: u64) -> Self {
        Self(number)
    }
}

impl From<Eap> for keytoll_ike::Eap {
    fn from(eap: Eap) -> Self {
        match eap {
            Eap::Packet(packet) => Self::Packet(packet),
            Eap::Success { packet, msk, identity } => Self::Success { packet, msk, identity },
            Eap::Failure { packet } => Self::Failure { packet },
        }
    }
}
