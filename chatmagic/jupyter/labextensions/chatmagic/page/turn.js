// One entry of the log: a turn, a failure, or an ask under way. Prompts and replies come as HTML
// that the kernel has made safe.

import { addCodeTools } from "./code.js";
import { button, enable, make } from "./dom.js";

/**
 * @typedef {import("./code.js").CodeActions & MoreActions} LogActions what the log's buttons do
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
  // A heading, so that a reader can go from turn to turn; those of a reply are below it.
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
  const cost = took === null ? "" : `took about ${took.toLocaleString()}`;
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
    for (const code of body.querySelectorAll(".highlight")) addCodeTools(code, actions);
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
    if (ask.html) this.showReply(ask.html);
  }

  /** Show the reply so far. @param {string} html */
  showReply(html) {
    if (html !== this.html) this.reply.innerHTML = this.html = html;
    this.waiting.hidden = true;
  }

  /** Say below what streamed that it has no end. @param {boolean} lost */
  lose(lost) {
    this.lost.hidden = !lost;
  }
}
