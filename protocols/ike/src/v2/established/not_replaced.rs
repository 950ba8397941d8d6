//! Handling of refused rekeying requests, for a child or an IKE SA, by the notification in the answer. All notifications that
//! affect it are handled here. Read RFC 7296 §2.25, §3.10.1 first.

use super::super::endpoint::Env;
use super::super::event::{Event, Reason};
use super::super::sa::Core;
use super::{Established, ask_again_at};
use crate::number::NotifyType;

/// The SA that was to be rekeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// The child with this inbound SPI.
    Child(u32),
    /// The IKE SA.
    IkeSa,
}

impl Established {
    /// The peer has refused, or its answer is unusable: the SA remains, unless the peer says that it does not exist.
    pub(super) fn not_replaced(&mut self, asked: Asked, reason: Reason, core: &Core, env: &mut Env<'_, '_>) {
        let said = match reason {
            Reason::Refused(kind) => Some(NotifyType(kind)),
            _ => None,
        };
        match (said, asked) {
            // RFC 7296 §2.25.1: the peer has closed it meanwhile.
            (Some(NotifyType::CHILD_SA_NOT_FOUND), Asked::Child(spi)) => self.forget_child(spi, core, env),
            // The peer has rekeyed it itself.
            (_, Asked::Child(spi)) if !self.has_current(spi) => {}
            // RFC 7296 §2.25: not now.
            (Some(NotifyType::TEMPORARY_FAILURE), _) => self.ask_again(asked, env),
            // RFC 7296 §3.10.1: never under this IKE SA. As in strongSwan the initiator sets up another one; the responder waits for that.
            (Some(NotifyType::NO_ADDITIONAL_SAS), _) if self.peer.initiated => {
                env.emit(Event::ReauthenticationDue(core.id()));
            }
            (_, Asked::Child(_)) => env.discard("the peer does not rekey the child"),
            (_, Asked::IkeSa) => env.discard("the peer does not rekey the IKE SA"),
        }
    }

    fn ask_again(&mut self, asked: Asked, env: &mut Env<'_, '_>) {
        let again = Some(ask_again_at(env));
        match asked {
            Asked::IkeSa => self.rekey_at = again,
            Asked::Child(spi) => {
                let same = self.children.iter_mut().filter(|child| child.inbound_spi == spi);
                same.for_each(|child| child.rekey_at = again);
            }
        }
    }
}
