// SHA-256 (FIPS 180-4). Browsers have it only in securely served pages, and asynchronously.

/** Return the first 32 bits of the fractions of a power of the first 64 primes. @param {number} power */
function fractions(power) {
  /** @type {number[]} */
  const primes = [];
  for (let number = 2; primes.length < 64; number++) {
    if (primes.every((prime) => number % prime)) primes.push(number);
  }
  return primes.map((prime) => (prime ** power % 1) * 2 ** 32 | 0);
}

/** The initial hash value, and the constants K. */
const INITIAL = fractions(1 / 2).slice(0, 8);
const K = fractions(1 / 3);

/** Return a word, rotated to the right (ROTR). @param {number} word @param {number} by */
const rotated = (word, by) => (word >>> by) | (word << (32 - by));

/** Return the digest of a text in UTF-8, in hexadecimal. @param {string} text */
export function sha256(text) {
  const bytes = new TextEncoder().encode(text);
  const padded = new DataView(new ArrayBuffer(((bytes.length + 72) >> 6) << 6));
  new Uint8Array(padded.buffer).set(bytes);
  padded.setUint8(bytes.length, 0x80);
  padded.setBigUint64(padded.byteLength - 8, BigInt(bytes.length) * 8n);
  const state = Int32Array.from(INITIAL);
  const words = new Int32Array(64);
  for (let block = 0; block < padded.byteLength; block += 64) {
    for (let at = 0; at < 64; at++) {
      if (at < 16) {
        words[at] = padded.getInt32(block + at * 4);
        continue;
      }
      const [near, far] = [words[at - 2], words[at - 15]];
      words[at] = words[at - 16] + words[at - 7] +
        (rotated(near, 17) ^ rotated(near, 19) ^ (near >>> 10)) +
        (rotated(far, 7) ^ rotated(far, 18) ^ (far >>> 3));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let at = 0; at < 64; at++) {
      // T1 and T2 of the standard.
      const t1 = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) +
        K[at] + words[at];
      const t2 = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, at) => { state[at] += word; });
  }
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}
