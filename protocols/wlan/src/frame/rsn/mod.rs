//! The elements by which stations and access points agree on protection: 802.11-2020 §9.4.2.24 (RSNE), §9.4.2.241 (RSNXE),
//! §9.4.2.46 (MDE), §9.4.2.47 (FTE), and WPA's vendor-specific one. A file each; all read and write the information of an element,
//! without its id and length.

pub mod capabilities;
pub mod fte;
pub mod mde;
pub mod rsne;
pub mod rsnxe;
pub mod selector;
pub mod wpa;

pub use capabilities::RsnCapabilities;
pub use fte::Fte;
pub use mde::Mde;
pub use rsne::Rsne;
pub use rsnxe::Rsnxe;
pub use selector::Selector;
pub use wpa::Wpa;
