//! Logarithm and exponential function from additions, multiplications and divisions alone, which IEEE 754 defines to the last bit:
//! draws are the same on every machine, whatever its maths library.

/// ln 2.
const LN_2: f64 = core::f64::consts::LN_2;

/// The natural logarithm of a positive normal number; relative error below 10⁻¹⁴.
pub(super) fn ln(x: f64) -> f64 {
    let (mantissa, exponent) = parts(x);
    // With z below 0.172, twelve terms of 2 artanh z = ln((1+z)/(1-z)) are exact to the last bit or two.
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let squared = z * z;
    let sum = (0..12).rev().fold(0.0, |sum, k| sum * squared + 1.0 / f64::from(2 * k + 1));
    2.0 * z * sum + f64::from(exponent) * LN_2
}

/// A number as mantissa in [√½, √2) and power of two.
fn parts(x: f64) -> (f64, i32) {
    const FRACTION: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    let exponent = i32::try_from(bits >> 52 & 0x7ff).expect("eleven bits") - 1023;
    let mantissa = f64::from_bits(bits & FRACTION | 1023 << 52);
    if mantissa >= core::f64::consts::SQRT_2 { (mantissa / 2.0, exponent + 1) } else { (mantissa, exponent) }
}

/// e to the power of a number between -700 and 700, to which others are clamped; relative error below 10⁻¹³.
pub(super) fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let halvings = (x / LN_2).round();
    let rest = x - halvings * LN_2;
    let sum = (1..=20).rev().fold(1.0, |sum, k| 1.0 + sum * rest / f64::from(k));
    let exponent = 1023 + halvings as i64;
    sum * f64::from_bits(u64::try_from(exponent).expect("-700 is above the smallest exponent") << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_agree_with_the_library(x in 1e-18_f64..1e18, y in -700.0_f64..700.0) {
            prop_assert!((ln(x) - x.ln()).abs() <= 1e-14 * x.ln().abs().max(1.0));
            prop_assert!((exp(y) - y.exp()).abs() <= 1e-12 * y.exp());
        }
    }
}
