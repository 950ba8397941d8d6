//! The IKEv2 implementation ryke as a device or as a gateway, for `interop/tests/ryke.rs`. ryke 0.3.0 is a library: this program calls its
//! public functions, owns the sockets, and writes one line for each result. Read RFC 7296 §1.2, §2.11 and §2.23 first.
//!
//! ```text
//! ryke-peer client gateway=10.99.1.2 id=ue@lab psk=SECRET inner=10.98.1.1 ping=10.98.2.1 echo probe rekey delete
//! ryke-peer server listen=10.99.1.2 id=gw.lab psk=SECRET inner=10.98.2.1
//! ```

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program with blocking sockets, which no engine of keytoll is part of"
)]

mod answer;
mod client;
mod credentials;
mod five_g;
mod packet;
mod requests;
mod server;
mod settings;
mod tunnel;
mod v1;
mod wire;

use std::error::Error;
use std::process::ExitCode;

use settings::Settings;

/// A result, or a sentence about the reason.
pub type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let role = words.next().unwrap_or_default();
    let settings = Settings::of(words);
    let done = match role.as_str() {
        "client" if settings.get("version") == Some("1") => v1::client(&settings),
        "server" if settings.get("version") == Some("1") => v1::server(&settings),
        "client" => client::run(&settings),
        "server" => server::run(&settings),
        _ => Err("usage: ryke-peer client|server KEY=VALUE… STEP…".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            println!("failed: {why}");
            ExitCode::FAILURE
        }
    }
}
