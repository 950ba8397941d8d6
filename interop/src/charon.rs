//! One strongSwan daemon on one node of a lab.

use std::ops::Deref;

use crate::lab::{Lab, Node};
use crate::pki::Pki;
use crate::run::Trouble;
use crate::swanctl::Terms;

/// A running daemon.
#[derive(Debug)]
pub struct Charon(keytoll_daemons::Charon);

impl Charon {
    /// Starts it with what the terms say for this node.
    pub fn start(lab: &Lab, node: Node, terms: &Terms, pki: Option<&Pki>) -> Result<Self, Trouble> {
        let config = terms.charon(node, pki)?;
        let (place, dir) = (lab.place(node), lab.dir(node));
        let daemon = match lab.strongswan_usr() {
            None => keytoll_daemons::Charon::start(&place, &dir, &config),
            Some(usr) => keytoll_daemons::Charon::start_from(usr, &place, &dir, &config),
        };
        daemon.map(Self)
    }
}

impl Deref for Charon {
    type Target = keytoll_daemons::Charon;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
