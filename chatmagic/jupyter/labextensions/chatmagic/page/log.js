// The log: the entries of the conversation and the asks under way, drawn from the store.

import { arrange, make } from "./dom.js";
import { typeset } from "./notebook.js";
import { Painter } from "./paint.js";
import { ScrollFollower } from "./scroll.js";
import { PendingNode, entryNode } from "./turn.js";

const EMPTY =
  "Nothing has been asked yet. What you ask here and in %%chat cells is one conversation.";

/** @typedef {{version: string, node: HTMLElement}} Drawn */

export class Log {
  /**
   * @param {import("./notebook.js").Model} model
   * @param {import("./store.js").Store} store
   * @param {import("./turn.js").LogActions} actions
   */
  constructor(model, store, actions) {
    this.model = model;
    this.store = store;
    this.actions = actions;
    /** @type {Map<number, Drawn>} by the entry's id */
    this.drawn = new Map();
    /** @type {Map<number, PendingNode>} by the ask's key */
    this.pending = new Map();
    this.lost = false;
    this.earlier = make("button", "cm-earlier-turns", "", { type: "button" });
    this.earlier.addEventListener("click", () => actions.showEarlier());
    this.empty = make("p", "cm-empty", EMPTY);
    this.inner = make("div", "cm-inner");
    // Not read out as it grows: the status region says what happened, once.
    const role = { role: "log", "aria-label": "Conversation", "aria-live": "off", tabindex: "0" };
    this.node = make("div", "cm-log", [this.inner], role);
    this.scroll = new ScrollFollower(this.node, this.inner);
    this.painter = new Painter(this.node);
  }

  /** Draw what the store has; a node is made anew only where its entry has changed. */
  draw() {
    const { store } = this;
    const shown = store.shown();
    const old = this.drawn;
    this.drawn = new Map(shown.map((entry) => [entry.id, this.drawEntry(entry, old)]));
    const asks = Array.from(store.pending.values());
    for (const key of this.pending.keys()) if (!store.pending.has(key)) this.pending.delete(key);
    for (const ask of asks) this.drawPending(ask);
    const placed = (/** @type {?number} */ after) => {
      return asks.filter((ask) => ask.after === after).map((ask) => this.nodeOf(ask));
    };
    const nodes = shown.flatMap(({ id }) => [this.drawn.get(id)?.node ?? [], placed(id)].flat());
    const last = asks.filter((ask) => ask.after === null || !this.drawn.has(ask.after));
    if (!store.earlier && document.activeElement === this.earlier) {
      this.node.focus({ preventScroll: true });
    }
    this.earlier.hidden = !store.earlier;
    this.earlier.textContent = `Show earlier turns (${store.earlier.toLocaleString()} more)`;
    this.empty.hidden = store.versions.size + asks.length > 0;
    const all = [this.earlier, this.empty, ...nodes, ...last.map((ask) => this.nodeOf(ask))];
    // What the reader sees stays where it is, also when earlier turns come or go above it.
    const top = Array.from(old.values()).find(({ node }) => nodes.includes(node))?.node;
    this.scroll.hold(top, () => arrange(this.inner, all));
    const replaced = new Set(asks.flatMap((ask) => ask.replaces));
    for (const [id, { node }] of this.drawn) {
      node.classList.toggle("cm-replaced", replaced.has(id));
      if (old.get(id)?.node !== node) typeset(this.model, node);
    }
    this.painter.look();
    this.scroll.follow();
  }

  /**
   * @param {import("./messages.js").Entry} entry
   * @param {Map<number, Drawn>} drawn
   * @returns {Drawn}
   */
  drawEntry(entry, drawn) {
    const old = drawn.get(entry.id);
    if (old?.version === entry.version) return old;
    return { version: entry.version, node: entryNode(entry, this.actions) };
  }

  /** @param {import("./messages.js").Pending} ask */
  drawPending(ask) {
    const node = this.pending.get(ask.key) ?? new PendingNode(ask);
    this.pending.set(ask.key, node);
    node.show(ask);
    node.lose(this.lost);
  }

  /** @param {import("./messages.js").Pending} ask */
  nodeOf(ask) {
    return /** @type {PendingNode} */ (this.pending.get(ask.key)).node;
  }

  /** Show a reply under way. @param {import("./messages.js").Text} text */
  showText({ key, html }) {
    this.pending.get(key)?.showReply(html);
    this.painter.look();
    this.scroll.follow();
  }

  /** Say of the asks under way whether their kernel is gone. @param {boolean} lost */
  lose(lost) {
    this.lost = lost;
    for (const node of this.pending.values()) node.lose(lost);
  }
}
