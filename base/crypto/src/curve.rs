//! The operations of [`OnCurve`] on curves y² = x³ − 3x + b over primes p ≡ 3 mod 4, from what a library has for points and for
//! numbers modulo p and r.

use std::sync::OnceLock;

use keytoll_crypto_api::algorithm::Curve as Name;
use keytoll_crypto_api::{OnCurve, Rejected, Secret};
use keytoll_native::awslc::ec::Curve;
use keytoll_native::awslc::element::{self, Modulus};
use keytoll_native::awslc::{self, const_time_eq};
use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroizing;

/// A number below a modulus, as long as it.
type Number = Zeroizing<Vec<u8>>;

/// What a library computes. Where it returns a bool, false means operands that it does not take.
pub(crate) trait Library {
    /// An element times a scalar.
    fn multiply(&self, curve: Curve, element: &[u8], scalar: &[u8], out: &mut [u8]) -> bool;
    /// The sum of two elements.
    fn add(&self, curve: Curve, a: &[u8], b: &[u8], out: &mut [u8]) -> bool;
    /// Whether it is one.
    fn contains(&self, curve: Curve, element: &[u8]) -> bool;
    /// Arithmetic with numbers below a modulus.
    fn modular(&self, step: Step, modulus: &'static Modulus, a: &[u8], b: &[u8], out: &mut [u8]);
    /// A number of any length modulo another one.
    fn remainder(&self, number: &[u8], modulus: &[u8], out: &mut [u8]);
}

/// A step of modular arithmetic; constant in time, except for what an exponent tells.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Add,
    Subtract,
    Multiply,
    Power,
}

/// AWS-LC.
pub(crate) struct AwsLc;

impl Library for AwsLc {
    fn multiply(&self, curve: Curve, element: &[u8], scalar: &[u8], out: &mut [u8]) -> bool {
        curve.multiply(element, scalar, out)
    }

    fn add(&self, curve: Curve, a: &[u8], b: &[u8], out: &mut [u8]) -> bool {
        curve.add(a, b, out)
    }

    fn contains(&self, curve: Curve, element: &[u8]) -> bool {
        curve.contains(element)
    }

    fn modular(&self, step: Step, modulus: &'static Modulus, a: &[u8], b: &[u8], out: &mut [u8]) {
        match step {
            Step::Add => modulus.add(a, b, out),
            Step::Subtract => modulus.subtract(a, b, out),
            Step::Multiply => modulus.multiply(a, b, out),
            Step::Power => modulus.power(a, b, out),
        }
    }

    fn remainder(&self, number: &[u8], modulus: &[u8], out: &mut [u8]) {
        element::remainder(number, modulus, out);
    }
}

/// Runs an operation.
pub(crate) fn compute(
    library: &dyn Library,
    curve: Name,
    operation: OnCurve<'_>,
) -> Result<Secret, Rejected> {
    let group = Group { library, curve: native(curve) };
    match operation {
        OnCurve::Multiply { element, scalar } => {
            accept(scalar.len() == curve.field_len())?;
            group.element(|out| library.multiply(group.curve, element, scalar, out))
        }
        OnCurve::Add(a, b) => group.element(|out| library.add(group.curve, a, b, out)),
        OnCurve::Invert(element) => group.invert(element),
        OnCurve::Check(element) => accept(library.contains(group.curve, element)).map(|()| Secret::default()),
        OnCurve::Test { x, blinding } => group.test(x, blinding).map(|()| Secret::default()),
        OnCurve::Solve { x, is_odd } => group.solve(x, is_odd),
        OnCurve::Map(octets) => Ok(group.map(octets)),
        OnCurve::AddScalars(a, b) => group.add_scalars(a, b),
        OnCurve::Scalar(octets) => Ok(group.scalar(octets)),
    }
}

const fn native(curve: Name) -> Curve {
    match curve {
        Name::P256 => Curve::P256,
        Name::P384 => Curve::P384,
        Name::P521 => Curve::P521,
    }
}

/// Computes and allocates what all threads share, which the first operation does otherwise: its role would be charged.
pub fn allocate_shared() {
    awslc::allocate_shared();
    Curve::ALL.into_iter().for_each(|curve| _ = Group { library: &AwsLc, curve }.constants());
}

#[derive(Clone, Copy)]
struct Group<'a> {
    library: &'a dyn Library,
    curve: Curve,
}

impl Group<'_> {
    fn element(self, compute: impl FnOnce(&mut [u8]) -> bool) -> Result<Secret, Rejected> {
        let mut element = vec![0; 2 * self.curve.field_len()];
        let computed = compute(&mut element);
        let element = Secret::new(element);
        accept(computed).map(|()| element)
    }

    fn invert(self, element: &[u8]) -> Result<Secret, Rejected> {
        accept(self.library.contains(self.curve, element))?;
        let (x, y) = element.split_at(self.curve.field_len());
        Ok(joined(x, &self.subtract(&self.small(0), y)))
    }

    // 802.11-2020 §12.4.4.2.2: the test sees the number times a random square, and times a square or a nonsquare as another
    // random bit decides. A square is 1, a nonsquare −1, because p ≡ 3 mod 4.
    fn test(self, x: &[u8], blinding: &[u8]) -> Result<(), Rejected> {
        accept(self.curve.field().contains(x) && blinding.len() == x.len() + 1)?;
        let (random, sign) = blinding.split_at(x.len());
        let random = self.reduce(random);
        let blinded = self.multiply(&self.equation(x), &self.multiply(&random, &random));
        let negated = Choice::from(sign[0] & 1);
        let blinded = select(&blinded, &self.subtract(&self.small(0), &blinded), negated);
        let legendre = self.power(&blinded, &shifted(self.prime(), 1));
        let minus_one = self.subtract(&self.small(0), &self.small(1));
        accept(const_time_eq(&legendre, &select(&self.small(1), &minus_one, negated)))
    }

    fn solve(self, x: &[u8], is_odd: bool) -> Result<Secret, Rejected> {
        accept(self.curve.field().contains(x))?;
        let square = self.equation(x);
        let y = self.root(&square);
        accept(const_time_eq(&self.multiply(&y, &y), &square))?;
        Ok(joined(x, &self.with_parity(&y, u8::from(is_odd))))
    }

    // RFC 9380 §6.6.2 and appendix F.2, as 802.11-2020 §12.4.4.2.3 writes it.
    fn map(self, octets: &[u8]) -> Secret {
        let u = self.reduce(octets);
        let zu2 = self.multiply(&self.z(), &self.multiply(&u, &u));
        let m = self.add(&self.multiply(&zu2, &zu2), &zu2);
        let inverse = self.power(&m, &minus_two(self.prime()));
        let [b_over_3, b_over_za] = self.constants();
        let x1 = self.multiply(b_over_3, &self.add(&self.small(1), &inverse));
        let x1 = select(&x1, b_over_za, is_zero(&m));
        let x2 = self.multiply(&zu2, &x1);
        let (square1, square2) = (self.equation(&x1), self.equation(&x2));
        let (y1, y2) = (self.root(&square1), self.root(&square2));
        let first = Choice::from(u8::from(const_time_eq(&self.multiply(&y1, &y1), &square1)));
        let (x, y) = (select(&x2, &x1, first), select(&y2, &y1, first));
        joined(&x, &self.with_parity(&y, parity(&u)))
    }

    fn add_scalars(self, a: &[u8], b: &[u8]) -> Result<Secret, Rejected> {
        let order = self.curve.order();
        let is_scalar = |number: &[u8]| order.contains(number) & !bool::from(is_zero(number));
        accept(is_scalar(a) & is_scalar(b))?;
        let mut sum = vec![0; a.len()];
        self.library.modular(Step::Add, order, a, b, &mut sum);
        Ok(Secret::new(sum))
    }

    fn scalar(self, octets: &[u8]) -> Secret {
        let order = self.curve.order();
        // r is an odd prime, so that taking one away borrows nothing.
        let mut below = order.bytes().to_vec();
        *below.last_mut().expect("an order has bytes") -= 1;
        let (mut rest, mut scalar) = (self.small(0), vec![0; below.len()]);
        self.library.remainder(octets, &below, &mut rest);
        self.library.modular(Step::Add, order, &rest, &self.small(1), &mut scalar);
        Secret::new(scalar)
    }

    /// x³ − 3x + b.
    fn equation(self, x: &[u8]) -> Number {
        let slope = self.subtract(&self.multiply(x, x), &self.small(3));
        self.add(&self.multiply(&slope, x), self.curve.b())
    }

    /// The square root of a square: its power (p + 1) / 4.
    fn root(self, square: &[u8]) -> Number {
        let mut exponent = shifted(self.prime(), 2);
        increment(&mut exponent);
        self.power(square, &exponent)
    }

    /// y or p − y, whichever has this parity.
    fn with_parity(self, y: &[u8], wanted: u8) -> Number {
        select(y, &self.subtract(&self.small(0), y), Choice::from(parity(y) ^ wanted))
    }

    /// A number of any length modulo p, half a coordinate at a time: the halves are below p, whatever they are.
    fn reduce(self, octets: &[u8]) -> Number {
        let half = self.curve.field_len() / 2;
        let mut shift = self.small(0);
        let at = shift.len() - 1 - half;
        shift[at] = 1;
        let (head, halves) = octets.split_at(octets.len() % half);
        let halves = std::iter::once(head).chain(halves.chunks(half));
        halves.fold(self.small(0), |sum, half| self.add(&self.multiply(&sum, &shift), &self.padded(half)))
    }

    /// −b/a and b/(z·a).
    fn constants(self) -> &'static [Number; 2] {
        static CONSTANTS: [OnceLock<[Number; 2]>; 3] = [const { OnceLock::new() }; Curve::ALL.len()];
        let over =
            |divisor: &Number| self.multiply(self.curve.b(), &self.power(divisor, &minus_two(self.prime())));
        let three = self.small(3);
        CONSTANTS[self.curve as usize].get_or_init(|| {
            let minus_three = self.subtract(&self.small(0), &three);
            [over(&three), over(&self.multiply(&self.z(), &minus_three))]
        })
    }

    /// RFC 9380 §8.2 to §8.4: −10, −12 and −4.
    fn z(self) -> Number {
        let minus = match self.curve {
            Curve::P256 => 10,
            Curve::P384 => 12,
            Curve::P521 => 4,
        };
        self.subtract(&self.small(0), &self.small(minus))
    }

    fn small(self, number: u8) -> Number {
        self.padded(&[number])
    }

    fn padded(self, number: &[u8]) -> Number {
        let mut padded = Zeroizing::new(vec![0; self.curve.field_len()]);
        let at = padded.len() - number.len();
        padded[at..].copy_from_slice(number);
        padded
    }

    fn prime(self) -> &'static [u8] {
        self.curve.field().bytes()
    }

    fn add(self, a: &[u8], b: &[u8]) -> Number {
        self.modular(Step::Add, a, b)
    }

    fn subtract(self, a: &[u8], b: &[u8]) -> Number {
        self.modular(Step::Subtract, a, b)
    }

    fn multiply(self, a: &[u8], b: &[u8]) -> Number {
        self.modular(Step::Multiply, a, b)
    }

    fn power(self, base: &[u8], exponent: &[u8]) -> Number {
        self.modular(Step::Power, base, exponent)
    }

    fn modular(self, step: Step, a: &[u8], b: &[u8]) -> Number {
        let mut result = Zeroizing::new(vec![0; self.curve.field_len()]);
        self.library.modular(step, self.curve.field(), a, b, &mut result);
        result
    }
}

fn joined(x: &[u8], y: &[u8]) -> Secret {
    Secret::new([x, y].concat())
}

/// The second if chosen, else the first.
fn select(a: &[u8], b: &[u8], choice: Choice) -> Number {
    Zeroizing::new(a.iter().zip(b).map(|(a, b)| u8::conditional_select(a, b, choice)).collect())
}

fn is_zero(number: &[u8]) -> Choice {
    Choice::from(u8::from(const_time_eq(number, &vec![0; number.len()])))
}

fn parity(number: &[u8]) -> u8 {
    number.last().map_or(0, |last| last & 1)
}

/// A public number shifted right by less than eight bits.
fn shifted(number: &[u8], bits: u32) -> Vec<u8> {
    let above = std::iter::once(&0).chain(number);
    number.iter().zip(above).map(|(byte, above)| byte >> bits | above.wrapping_shl(8 - bits)).collect()
}

fn increment(number: &mut [u8]) {
    for byte in number.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return;
        }
    }
}

/// A public prime less 2; the last bytes of these primes are not below 2.
fn minus_two(prime: &[u8]) -> Vec<u8> {
    let mut number = prime.to_vec();
    *number.last_mut().expect("a prime has bytes") -= 2;
    number
}

fn accept(condition: bool) -> Result<(), Rejected> {
    condition.then_some(()).ok_or(Rejected)
}
