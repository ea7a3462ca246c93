// One view's copy of the conversation. The kernel lists the entries, by id and version; the view
// asks for missing ones. No DOM here.

/** @typedef {import("./messages.js").Entry} Entry */
/** @typedef {import("./messages.js").FromPage} FromPage */
/** @typedef {import("./messages.js").Pending} Pending */
/** @typedef {import("./messages.js").Snapshot} Snapshot */

/** Number of entries in one request; the newest, which the user sees, come first. */
const CHUNK = 30;

export class Store {
  /** The view's entries in order, in a conversation that the kernel knows whole. */
  constructor() {
    /** @type {Map<number, string>} the version of each entry that is shown, by id, in order */
    this.versions = new Map();
    /** @type {Map<number, Entry>} */
    this.entries = new Map();
    /** @type {Map<string, Pending>} asks under way by their names */
    this.pending = new Map();
    /** @type {Map<number, string>} the requested versions */
    this.requested = new Map();
    /** Number of turns that the user wants to see; 0 leaves it to the kernel. */
    this.count = 0;
    /** Number of turns before the shown ones. */
    this.earlier = 0;
    /** @type {?Snapshot} the last one */
    this.state = null;
  }

  /**
   * Store a snapshot.
   * @param {Snapshot} snapshot
   * @returns {FromPage[]} the requests for the kernel
   */
  takeSnapshot(snapshot) {
    const listed = new Map(snapshot.entries);
    const news = !snapshot.view;
    // A view that shows earlier turns keeps them until the kernel has listed them, too.
    const known = news && this.count && snapshot.earlier ? Array.from(this.versions) : [];
    const before = known.slice(0, Math.max(known.findIndex(([id]) => listed.has(id)), 0));
    const kept = before.filter(([id]) => id > 0).length;
    this.versions = new Map([...before, ...snapshot.entries]);
    this.earlier = Math.max(0, snapshot.earlier - kept);
    const turns = snapshot.count - this.earlier;
    if (news) this.count = kept && Math.max(this.count, turns);
    this.state = snapshot;
    this.pending = new Map(snapshot.pending.map((ask) => [ask.live, ask]));
    for (const known of [this.entries, this.requested]) {
      for (const id of known.keys()) if (!this.versions.has(id)) known.delete(id);
    }
    const more = this.takeEntries(snapshot.new);
    return kept ? [{ kind: "sync", count: this.count }, ...more] : more;
  }

  /**
   * Store entries.
   * @param {Entry[]} entries
   * @returns {FromPage[]} the requests for the kernel
   */
  takeEntries(entries) {
    for (const entry of entries) {
      if (!this.versions.has(entry.id)) continue;
      this.entries.set(entry.id, entry);
      this.versions.set(entry.id, entry.version);
      this.requested.delete(entry.id);
    }
    const lacking = Array.from(this.versions).filter(([id, version]) => {
      return ![this.entries.get(id)?.version, this.requested.get(id)].includes(version);
    });
    const asked = lacking.slice(-CHUNK);
    for (const [id, version] of asked) this.requested.set(id, version);
    return asked.length ? [{ kind: "want", ids: asked.map(([id]) => id) }] : [];
  }

  /**
   * Store the state of an ask under way.
   * @param {Pending} ask
   * @returns {boolean} whether its reply has begun
   */
  takePending(ask) {
    const begins = Boolean(ask.html) && !this.pending.get(ask.live)?.html;
    this.pending.set(ask.live, ask);
    return begins;
  }

  /** Return the request for the turns before the shown ones. @returns {FromPage} */
  wantEarlier() {
    this.count = this.turns().length + CHUNK;
    return { kind: "sync", count: this.count };
  }

  /** Return the entries that are here, in order. @returns {Entry[]} */
  shown() {
    return Array.from(this.versions.keys()).flatMap((id) => this.entries.get(id) ?? []);
  }

  /** Return the turns that are here, in order. */
  turns() {
    return this.shown().filter((entry) => entry.id > 0);
  }

  /** Return the prompts, the newest first; failed ones only if the panel asked them. */
  prompts() {
    const shown = this.shown().filter((entry) => entry.id > 0 || (entry.mine && entry.prompt));
    return shown.map((entry) => entry.prompt).reverse();
  }
}
