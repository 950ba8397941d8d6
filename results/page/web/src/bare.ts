// What Vega expects of any place it runs in, for an engine that has nothing but the language. Imported before everything else.

/** Copies plain data, which is all that Vega-Lite has copied. */
function copied<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copied) as T;
  if (value instanceof Date) return new Date(value) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copied(inner)])) as T;
}

/** Nothing that is drawn once waits for a time. */
const never = (): number => 0;

/** What is complained of is a mistake of who asked for the picture. */
function complain(...said: unknown[]): never {
  throw new Error(said.join(' '));
}

const quiet = { log() {}, info() {}, debug() {}, warn() {}, error: complain };

const missing = { setTimeout: never, setInterval: never, clearTimeout() {}, structuredClone: copied, console: quiet };

for (const [name, value] of Object.entries(missing)) {
  if (!(name in globalThis)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}
