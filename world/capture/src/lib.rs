//! Captures: pcapng files of every link with the key tables that Wireshark reads, and any capture read back into
//! messages and facts.

pub mod observe;
