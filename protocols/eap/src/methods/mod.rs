//! The methods, a file each.
pub mod aka;
pub mod aka_prime;
pub mod gtc;
pub mod md5;
pub mod mschapv2;
pub mod peap;
pub mod sim;
pub mod tls;
pub mod ttls;
