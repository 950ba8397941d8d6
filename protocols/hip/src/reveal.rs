//! Keys for whoever wants to read a capture ([`Trace::wants_keys`]).

use keytoll_engine::trace::Trace;

use crate::event::ChildSa;

impl ChildSa {
    /// Tells the keys of both directions.
    pub(crate) fn reveal(&self, trace: &mut dyn Trace) {
        if let (Some(us), Some(peer)) = (self.local_at.ip(), self.remote_at.ip()) {
            self.pair.reveal(us, peer, trace);
        }
    }
}
