// The log: the entries of the conversation and the asks under way, drawn from the store. It follows the
// newest text until the user scrolls up. Prompts and replies arrive as safe HTML.

import { WITH_TOOLS, addCodeTools } from "./code.js";
import { arrange, button, enable, make } from "./dom.js";
import { creditWords } from "./gauge.js";
import { typeset } from "./notebook.js";
import { Painter } from "./live_reply.js";

/** Distance from the end, in pixels, that counts as being at the end. */
const NEAR = 24;

export class ScrollFollower {
  /**
   * @param {HTMLElement} box scrolls
   * @param {HTMLElement} content may grow by itself, such as when formulas are typeset
   */
  constructor(box, content) {
    this.box = box;
    this.content = content;
    this.down = button("down", "Go to the newest text", () => this.follow(true), "Newest");
    this.follows = true;
    this.top = 0;
    this.height = 0;
    box.addEventListener("scroll", () => this.scrolled());
    // A scroll event alone does not show whether the user moved or the content grew.
    box.addEventListener("wheel", (event) => this.wheeled(event), { passive: true });
    this.observer = new ResizeObserver(() => this.follow());
    this.observer.observe(content);
    this.observer.observe(box);
  }

  /** Note whether the user has scrolled up; changes of the content scroll, too. */
  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR;
    const isLower = scrollTop > this.top || scrollHeight < this.height;
    if (isAtEnd && isLower) this.follows = true;
    else if (!isAtEnd && scrollTop < this.top && scrollHeight === this.height) this.follows = false;
    this.remember();
  }

  /**
   * Stop following when the user turns the wheel upwards, before the box has moved.
   * @param {WheelEvent} event
   */
  wheeled(event) {
    if (event.deltaY >= 0 || this.box.scrollTop === 0) return;
    this.follows = false;
    this.remember();
  }

  /** @param {boolean} [always] even if the user has scrolled up */
  follow(always = false) {
    if (always) this.follows = true;
    if (this.follows) this.box.scrollTop = this.box.scrollHeight;
    this.remember();
  }

  /**
   * Change the content above a node, and keep the node in its place on the screen.
   * @param {HTMLElement | undefined} node
   * @param {() => void} change
   */
  hold(node, change) {
    const before = node?.offsetTop ?? 0;
    change();
    if (node?.isConnected) this.box.scrollTop += node.offsetTop - before;
  }

  close() {
    this.observer.disconnect();
  }

  remember() {
    this.top = this.box.scrollTop;
    this.height = this.box.scrollHeight;
    this.down.hidden = this.follows;
  }
}

/**
 * @typedef {import("./code.js").CodeActions & MoreActions} LogActions actions of the log's buttons
 * @typedef {object} MoreActions
 * @property {(turn: number, prompt: string) => void} askAgain
 * @property {(turn: number, prompt: string) => void} edit
 * @property {(turns: number[]) => void} put puts turns into the notebook as cells
 * @property {(turn: number, reply: number) => void} pick puts another reply in a turn's place
 * @property {() => void} showEarlier
 */

/** @param {string} by @param {string} html */
function promptNode(by, html) {
  const text = make("div", "cm-text jp-RenderedHTMLCommon");
  text.innerHTML = html;
  // A heading, so that a screen reader can go from turn to turn; a reply's headings are lower.
  const who = make("h3", "cm-who", by === "the panel" ? "You" : `You, in ${by}`);
  return make("div", "cm-prompt", [who, text]);
}

function replyNode() {
  const name = { role: "group", "aria-label": "Reply" };
  return make("div", "cm-reply jp-RenderedHTMLCommon", "", name);
}

/** @param {number} id @param {number[]} replies @param {LogActions} actions */
function repliesNode(id, replies, actions) {
  const at = replies.indexOf(id);
  /** @param {"earlier"|"later"} icon @param {string} name @param {number} [reply] */
  const step = (icon, name, reply) => {
    const node = button(icon, name, () => reply !== undefined && actions.pick(id, reply));
    enable(node, reply !== undefined);
    return node;
  };
  return make("span", "cm-replies", [
    step("earlier", "Earlier reply", replies[at - 1]),
    make("span", "cm-meta", `${at + 1} of ${replies.length}`),
    step("later", "Later reply", replies[at + 1]),
  ], { role: "group", "aria-label": "Replies" });
}

/** @param {import("./messages.js").Entry} entry @param {LogActions} actions */
function footNode(entry, actions) {
  const { id, prompt, reply, took } = entry;
  const text = reply?.text ?? "";
  /** @type {HTMLElement[]} */
  const tools = [button("copy", "Copy the reply", () => actions.copy(text, "The reply"))];
  if (entry.mine) {
    tools.push(
      button("retry", "Ask again", () => actions.askAgain(id, prompt)),
      button("edit", "Edit the prompt", () => actions.edit(id, prompt)),
      button("cell", "Put into the notebook", () => actions.put([id])),
    );
  }
  if (entry.replies.length) tools.unshift(repliesNode(id, entry.replies, actions));
  const cost = took === null ? "" : `cost about ${creditWords(took)}`;
  const figures = [reply?.tokens, cost].filter(Boolean).join(" · ");
  return make("div", "cm-foot", [make("span", "cm-meta", figures), make("div", "cm-tools", tools)]);
}

/**
 * Return the node of a turn, or of an ask that failed or was not kept.
 * @param {import("./messages.js").Entry} entry
 * @param {LogActions} actions
 */
export function entryNode(entry, actions) {
  const { reply, problem } = entry;
  const label = !problem ? `Asked in ${entry.by}` : problem.failed ? "Failed" : "Not kept";
  const kind = !problem ? "" : problem.failed ? "cm-aside cm-failed" : "cm-aside";
  const node = make("article", `cm-turn ${kind}`, "", { "aria-label": label });
  if (entry.prompt) node.append(promptNode(entry.by, entry.prompt_html));
  if (entry.notes.length) node.append(make("div", "cm-notes", entry.notes.join(" · ")));
  if (reply) {
    const body = replyNode();
    body.innerHTML = reply.html;
    for (const code of body.querySelectorAll(WITH_TOOLS)) addCodeTools(code, actions);
    body.append(...reply.states.map((state) => make("p", "cm-state", state)));
    node.append(body);
  }
  if (problem) {
    const hint = problem.hint ? [make("div", "", problem.hint)] : [];
    node.append(make("div", "cm-what", [make("strong", "", problem.what), ...hint]));
  } else {
    node.append(footNode(entry, actions));
  }
  return node;
}

/** The node of an ask under way. */
export class PendingNode {
  /** @param {import("./messages.js").Pending} ask */
  constructor(ask) {
    this.html = "";
    this.notes = make("div", "cm-notes");
    this.reply = replyNode();
    this.waiting = make("div", "cm-waiting");
    this.lost = make("p", "cm-state", "The kernel ended before this reply did: it was not kept.");
    const prompt = promptNode(ask.by, ask.prompt_html);
    const parts = [prompt, this.notes, this.reply, this.waiting, this.lost];
    const label = `Being asked in ${ask.by}`;
    this.node = make("article", "cm-turn cm-live", parts, { "aria-label": label });
    this.show(ask);
    this.lose(false);
  }

  /** Show the stage of the ask. @param {import("./messages.js").Pending} ask */
  show(ask) {
    const began = ask.stage === "began";
    this.notes.textContent = began ? ask.note : "";
    const note = ask.note.replace(/\.$/, "") || "Sending";
    this.waiting.textContent = began ? "Waiting for the reply" : note;
    if (ask.html !== this.html) this.reply.innerHTML = this.html = ask.html;
    this.waiting.hidden = Boolean(ask.html);
  }

  /** Show or hide the line that a partial reply has no end. @param {boolean} lost */
  lose(lost) {
    this.lost.hidden = !lost;
  }
}

const EMPTY =
  "Nothing has been asked yet. What you ask here and in %%chat cells is one conversation.";

/** @typedef {{version: string, node: HTMLElement}} Drawn */

export class Log {
  /**
   * @param {import("./notebook.js").Model} model
   * @param {import("./store.js").Store} store
   * @param {LogActions} actions
   */
  constructor(model, store, actions) {
    this.model = model;
    this.store = store;
    this.actions = actions;
    /** @type {Map<number, Drawn>} by the entry's id */
    this.drawn = new Map();
    /** @type {Map<string, PendingNode>} by the ask's name */
    this.pending = new Map();
    this.lost = false;
    this.earlier = make("button", "cm-earlier-turns", "", { type: "button" });
    this.earlier.addEventListener("click", () => actions.showEarlier());
    this.empty = make("p", "cm-empty", EMPTY);
    this.inner = make("div", "cm-inner");
    // It is not read out as it grows; the status region reports it once.
    const role = { role: "log", "aria-label": "Conversation", "aria-live": "off", tabindex: "0" };
    this.node = make("div", "cm-log", [this.inner], role);
    this.scroll = new ScrollFollower(this.node, this.inner);
    this.painter = new Painter(this.node);
  }

  /** Draw the content of the store; a node is made again only if its entry has changed. */
  draw() {
    const shown = this.store.shown();
    const asks = Array.from(this.store.pending.values());
    const old = this.drawn;
    this.drawn = new Map(shown.map((entry) => [entry.id, this.drawEntry(entry, old)]));
    this.drawAsks(asks);
    this.drawEarlier();
    this.empty.hidden = this.store.versions.size + asks.length > 0;
    const nodes = this.nodesInOrder(shown, asks);
    // The visible part stays in its place when earlier turns come or go above it.
    const top = Array.from(old.values()).find(({ node }) => nodes.includes(node))?.node;
    this.scroll.hold(top, () => arrange(this.inner, [this.earlier, this.empty, ...nodes]));
    const replaced = new Set(asks.flatMap((ask) => ask.replaces));
    for (const [id, { node }] of this.drawn) {
      node.classList.toggle("cm-replaced", replaced.has(id));
      if (old.get(id)?.node !== node) typeset(this.model, node);
    }
    this.painter.look();
    this.scroll.follow();
  }

  /** Draw the button for the turns before the shown ones; its focus goes to the log if it goes. */
  drawEarlier() {
    const { earlier } = this.store;
    if (!earlier && document.activeElement === this.earlier) this.node.focus({ preventScroll: true });
    this.earlier.hidden = !earlier;
    this.earlier.textContent = `Show earlier turns (${earlier.toLocaleString()} more)`;
  }

  /**
   * Return the nodes of entries and asks in order: an ask stands behind its turn, or last if that is
   * not shown.
   * @param {import("./messages.js").Entry[]} shown
   * @param {import("./messages.js").Pending[]} asks
   */
  nodesInOrder(shown, asks) {
    const nodes = shown.flatMap(({ id }) => {
      const behind = asks.filter(({ after }) => after === id);
      return [this.drawn.get(id)?.node ?? [], ...behind.map((ask) => this.nodeOf(ask))].flat();
    });
    const last = asks.filter(({ after }) => after === null || !this.drawn.has(after));
    return [...nodes, ...last.map((ask) => this.nodeOf(ask))];
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

  /** Draw the asks under way, and no others. @param {import("./messages.js").Pending[]} asks */
  drawAsks(asks) {
    for (const live of this.pending.keys()) if (!this.store.pending.has(live)) this.pending.delete(live);
    for (const ask of asks) {
      const node = this.pending.get(ask.live) ?? new PendingNode(ask);
      this.pending.set(ask.live, node);
      node.show(ask);
      node.lose(this.lost);
    }
  }

  /** @param {import("./messages.js").Pending} ask */
  nodeOf(ask) {
    return /** @type {PendingNode} */ (this.pending.get(ask.live)).node;
  }

  close() {
    this.scroll.close();
    this.painter.forget();
  }

  /** Show on the asks under way whether their kernel is gone. @param {boolean} lost */
  lose(lost) {
    this.lost = lost;
    for (const node of this.pending.values()) node.lose(lost);
  }
}
