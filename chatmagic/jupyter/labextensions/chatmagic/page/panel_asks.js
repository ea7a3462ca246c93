// The connection of one view to the kernel, and its asks: sending, stopping, and announcing
// their progress.

import { bridgeSpeaks, interruptKernel, panelViews } from "./notebook.js";

/** How long, in milliseconds, the kernel may take to answer. */
export const ANSWER_MS = 3000;
/** Milliseconds until the first ping, after which newer kernels route messages past a busy cell. */
const PING_MS = 1000;

export class KernelConnection {
  /**
   * @param {import("./notebook.js").Model} model
   * @param {object} listeners
   * @param {(message: any) => void} listeners.onMessage
   * @param {() => void} [listeners.onLost] the kernel is gone, as far as is known
   * @param {() => void} [listeners.onBack] the lost kernel answers: it was busy, or away
   */
  constructor(model, listeners) {
    this.model = model;
    this.listeners = listeners;
    this.view = Math.random().toString(36).slice(2);
    this.lost = false;
    this.deadline = 0;
    this.receive = this.receive.bind(this);
    this.check = this.check.bind(this);
    model.on("msg:custom", this.receive);
    model.on("comm_live_update", this.check);
    // In a reloaded page, widgets do not learn that a kernel was shut down.
    this.kernelChanged = model.widget_manager?.context?.sessionContext?.kernelChanged;
    this.kernelChanged?.connect(this.check);
    this.ping = setTimeout(() => this.send({ kind: "ping" }), PING_MS);
  }

  /** @param {import("./messages.js").FromPage} message */
  send(message) {
    this.attempt(() => this.model.send({ ...message, view: this.view }));
  }

  /** Do an action that fails if the kernel is gone. @param {() => void} act */
  attempt(act) {
    try {
      act();
    } catch {
      this.lose();
    }
  }

  /** @param {any} message */
  receive(message) {
    if (message.view && message.view !== this.view) return;
    if (message.kind === "pong") clearTimeout(this.deadline);
    if (this.lost) {
      this.lost = false;
      this.listeners.onBack?.();
    }
    this.listeners.onMessage(message);
  }

  /** Find out whether the kernel still knows this view. */
  check() {
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => this.lose(), ANSWER_MS);
    this.send({ kind: "ping" });
  }

  lose() {
    clearTimeout(this.deadline);
    this.lost = true;
    this.listeners.onLost?.();
  }

  close() {
    clearTimeout(this.ping);
    clearTimeout(this.deadline);
    this.model.off("msg:custom", this.receive);
    this.model.off("comm_live_update", this.check);
    this.kernelChanged?.disconnect(this.check);
  }
}

/** Milliseconds that a kernel with a running cell has to hear Stop before it is interrupted. */
const INTERRUPT_MS = 700;
const UNDER_WAY = "A question from the panel is under way; Escape stops it.";
const NO_ANSWER =
  "The kernel has not answered yet: it is busy, or gone. Escape takes the prompt back.";
const BUSY_WITH_A_CELL =
  "The kernel is busy with a cell, and hears Stop when that ends or is interrupted.";
const NO_INTERRUPT = "The kernel cannot be interrupted here: use the front end's own Stop button.";

/** @typedef {import("./messages.js").Pending} Pending */

export class Asking {
  /**
   * @param {import("./notebook.js").Model} model
   * @param {KernelConnection} connection
   * @param {import("./store.js").Store} store
   * @param {import("./composer.js").Composer} composer
   */
  constructor(model, connection, store, composer) {
    this.model = model;
    this.connection = connection;
    this.store = store;
    this.composer = composer;
    /** @type {?{nonce: string, text: string, timer: number}} the unanswered prompt */
    this.sent = null;
    /** @type {string | undefined} the name of the ask that this view sent last */
    this.own = undefined;
    /** @type {string | undefined} the ask whose beginning this view announced */
    this.announced = undefined;
    /** @type {string | undefined} the ask that this view has stopped */
    this.stopped = undefined;
    /** @type {string | undefined} the ask that this view withdrew before it was sent */
    this.withdrawn = undefined;
    this.timer = 0;
  }

  /** Whether a question of the panel's is under way. */
  get busy() {
    const asks = Array.from(this.store.pending.values());
    return this.sent !== null || (!this.connection.lost && asks.some((ask) => ask.mine));
  }

  /** Whether there is something to stop. */
  get active() {
    return this.sent !== null || (!this.connection.lost && this.store.pending.size > 0);
  }

  /**
   * Send a prompt.
   * @param {string} text
   * @param {?number} [replaces] the turn that the new one replaces
   * @param {boolean} [again] ask exactly that turn's question
   */
  ask(text, replaces = null, again = false) {
    if (this.busy) return this.composer.announce(UNDER_WAY);
    const nonce = Math.random().toString(36).slice(2);
    const timer = window.setTimeout(() => this.composer.announce(NO_ANSWER), ANSWER_MS);
    this.sent = { nonce, text, timer };
    this.composer.recalled = null;
    this.composer.announce("Sending.");
    const exact = again ? null : text.replace(/\n+$/, "");
    this.connection.send({ kind: "ask", nonce, text: exact, replaces });
    this.composer.focus();
  }

  /** Forget the sent prompt. @param {boolean} [keep] the typed text */
  forget(keep = false) {
    clearTimeout(this.sent?.timer);
    if (!keep && this.composer.text === this.sent?.text) this.composer.text = "";
    this.sent = null;
  }

  /**
   * Forget the sent prompt, and return its text.
   * @param {string} words
   * @param {boolean} wrong
   */
  returnPrompt(words, wrong) {
    const text = this.sent?.text ?? "";
    this.forget(true);
    this.composer.announce(words, { wrong });
    if (!this.composer.text) this.composer.text = text;
  }

  /** Take back the sent prompt, or stop an ask: the panel's own, else the latest. */
  stop() {
    const asks = Array.from(this.store.pending.values());
    const ask = asks.find(({ mine }) => mine) ?? asks.at(-1);
    if (this.sent) return this.returnPrompt("Withdrawn before it was sent.", false);
    if (!ask || this.connection.lost) return void this.composer.stopEditing();
    this.connection.send({ kind: "stop", live: ask.live });
    if (this.stopped !== ask.live) this.composer.announce("Stopping.");
    this.stopped = ask.live;
    // Old kernels hear nothing while a cell runs. An interrupt ends the cell, so it is sent only if the
    // cell's own ask is to be stopped.
    clearTimeout(this.timer);
    this.timer = window.setTimeout(
      () => this.store.pending.has(ask.live) && !this.connection.lost && this.insist(ask),
      ask.mine ? ANSWER_MS : INTERRUPT_MS,
    );
  }

  /** Act on a Stop that the kernel did not hear. @param {Pending} ask */
  insist(ask) {
    if (ask.mine) this.composer.announce(BUSY_WITH_A_CELL, { wrong: true });
    else if (interruptKernel(this.model)) this.composer.announce("Interrupting the kernel.");
    else this.composer.announce(NO_INTERRUPT, { wrong: true });
  }

  /** Stop waiting: the kernel has heard Stop. */
  takeStopping() {
    clearTimeout(this.timer);
  }

  /**
   * Let the kernel ask, unless the prompt was withdrawn.
   * @param {import("./messages.js").Offer} offer
   */
  takeOffer({ nonce, live }) {
    const wanted = this.sent?.nonce === nonce;
    this.connection.send({ kind: wanted ? "go" : "stop", live });
    if (!wanted) return void (this.withdrawn = live);
    this.own = live;
    this.forget();
  }

  /** @param {import("./messages.js").Notice} notice */
  takeNotice({ nonce, words }) {
    if (nonce === undefined) this.composer.announce(words);
    else if (this.sent?.nonce === nonce) this.returnPrompt(words, true);
  }

  /** Announce the stage of an ask. @param {Pending} ask */
  takePending(ask) {
    const silent = this.isAnnouncedElsewhere(ask);
    if (ask.stage === "waiting") this.composer.announce(ask.note, { silent });
    else if (ask.stage === "began" && !silent) this.announced = ask.live;
  }

  /** Announce the first text of a reply. @param {Pending} ask */
  replyStarted(ask) {
    const words = ask.mine ? "Reply started." : `Reply to ${ask.by} started.`;
    this.composer.announce(words, { silent: ask.live !== this.announced });
  }

  /**
   * Announce the end of an ask, and give back a prompt that was not answered.
   * @param {import("./messages.js").Ended} ended
   * @param {Pending | undefined} ask as it was
   */
  takeEnd({ live, words, fine, prompt }, ask) {
    if (live === this.withdrawn) return;
    // The view that announced the beginning announces the end, even if a bridge has opened since.
    const silent = ask !== undefined && live !== this.announced && this.isAnnouncedElsewhere(ask);
    this.composer.announce(words, { wrong: !fine, silent });
    // The log has the whole text.
    this.composer.status.classList.toggle("cm-brief", !fine);
    clearTimeout(this.timer);
    if (prompt !== null && !this.composer.text) this.composer.text = prompt;
  }

  /**
   * Whether another one announces an ask: the view that sent it, the bridge, an older view.
   * @param {Pending} ask
   */
  isAnnouncedElsewhere(ask) {
    if (ask.mine) return ask.live !== this.own;
    const [oldest = this.connection] = panelViews(this.model);
    return bridgeSpeaks(this.model) || oldest !== this.connection;
  }

  close() {
    clearTimeout(this.timer);
    clearTimeout(this.sent?.timer);
  }
}
