//! The methods, a file each.
