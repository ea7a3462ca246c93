// SHA-256 (FIPS 180-4). Browsers have it only in securely served pages, and asynchronously.

const FRACTIONS = (/** @type {number} */ power) => {
  /** @type {number[]} */
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  return primes.map((prime) => (prime ** power % 1) * 2 ** 32 | 0);
};
const START = FRACTIONS(1 / 2).slice(0, 8);
const ADDED = FRACTIONS(1 / 3);

/** @param {number} word @param {number} by */
const turned = (word, by) => (word >>> by) | (word << (32 - by));

/** Return the digest of a text in UTF-8, in hexadecimal. @param {string} text */
export function sha256(text) {
  const bytes = new TextEncoder().encode(text);
  const padded = new DataView(new ArrayBuffer(((bytes.length + 72) >> 6) << 6));
  new Uint8Array(padded.buffer).set(bytes);
  padded.setUint8(bytes.length, 0x80);
  padded.setBigUint64(padded.byteLength - 8, BigInt(bytes.length) * 8n);
  const state = Int32Array.from(START);
  const words = new Int32Array(64);
  for (let block = 0; block < padded.byteLength; block += 64) {
    for (let at = 0; at < 64; at++) {
      if (at < 16) {
        words[at] = padded.getInt32(block + at * 4);
        continue;
      }
      const [near, far] = [words[at - 2], words[at - 15]];
      words[at] = words[at - 16] + words[at - 7] +
        (turned(near, 17) ^ turned(near, 19) ^ (near >>> 10)) +
        (turned(far, 7) ^ turned(far, 18) ^ (far >>> 3));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let at = 0; at < 64; at++) {
      const one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) +
        ADDED[at] + words[at];
      const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, at) => { state[at] += word; });
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
