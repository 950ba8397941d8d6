//! EAP as captures and observers know it: RFC 3748. It has no packets of its own on a wire: others carry it, EAPOL among them.

mod tls;
pub mod words;

use keytoll_engine::trace::Protocol;
use keytoll_family::Family;

/// EAP in whatever carries it.
#[derive(Debug)]
pub struct EapFamily;

impl Family for EapFamily {
    fn protocols(&self) -> &'static [Protocol] {
        &[]
    }

    fn flow(&self) -> Option<Box<dyn keytoll_family::Flow>> {
        Some(Box::new(words::Flow::default()))
    }
}

#[cfg(test)]
mod tests;
