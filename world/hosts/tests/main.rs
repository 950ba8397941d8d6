//! All integration tests of this crate in one program, so that it is linked once.

mod aaa;
mod chain;
mod chain_corpus;
mod children;
mod common;
mod conversation;
mod corpus;
mod eap_peap;
mod eap_tls;
mod eap_ttls;
mod guessing;
mod hostile;
mod standing;
