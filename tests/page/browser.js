// As much of a browser as the page's modules need, and the front end around a widget.

import { readFileSync } from "node:fs";

import { NotebookViews } from "../../chatmagic/jupyter/labextensions/chatmagic/page/views.js";

class Style {}

class Node {
  constructor(tag) {
    this.tagName = tag.toUpperCase();
    this.attributes = new Map();
    this.nodes = [];
    this.parentElement = null;
    this.listeners = {};
    this.dataset = {};
    this.style = new Style();
    this.hidden = false;
    this.value = "";
    this.offsetTop = 0;
    this.scrollTop = 0;
    this.scrollHeight = 100;
    this.clientHeight = 100;
    const node = this;
    this.classList = {
      has: (name) => node.className.split(" ").includes(name),
      toggle(name, on) {
        const others = node.className.split(" ").filter((other) => other && other !== name);
        node.className = (on ? [...others, name] : others).join(" ");
      },
      add: (name) => node.classList.toggle(name, true),
      remove: (name) => node.classList.toggle(name, false),
    };
    this.className = "";
  }
  get children() {
    return this.nodes.filter((node) => node instanceof Node);
  }
  get childNodes() {
    return [...this.nodes];
  }
  get firstElementChild() {
    return this.children[0] ?? null;
  }
  get lastChild() {
    return this.nodes.at(-1) ?? null;
  }
  get nextElementSibling() {
    const all = this.parentElement?.children ?? [];
    return all[all.indexOf(this) + 1] ?? null;
  }
  get isConnected() {
    return this === document.body || Boolean(this.parentElement?.isConnected);
  }
  get textContent() {
    return this.nodes.map((node) => node.textContent ?? String(node)).join("");
  }
  set textContent(text) {
    this.nodes = text ? [String(text)] : [];
  }
  get innerHTML() {
    return this.html ?? "";
  }
  set innerHTML(html) {
    this.html = html;
    this.nodes = [html.replace(/<[^>]*>/g, "")];
  }
  append(...nodes) {
    for (const node of nodes.flatMap((node) => (node instanceof Fragment ? node.nodes : [node]))) {
      node.remove?.();
      this.nodes.push(node);
      if (node instanceof Node) node.parentElement = this;
    }
  }
  insertBefore(node, next) {
    node.moved = (node.moved ?? 0) + 1;
    node.remove();
    const at = next ? this.nodes.indexOf(next) : this.nodes.length;
    this.nodes.splice(at, 0, node);
    node.parentElement = this;
  }
  replaceChildren(...nodes) {
    this.nodes = [];
    this.append(...nodes);
  }
  remove() {
    if (!this.parentElement) return;
    this.parentElement.nodes = this.parentElement.nodes.filter((node) => node !== this);
    this.parentElement = null;
  }
  setAttribute(name, value) {
    this.attributes.set(name, value);
  }
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  addEventListener(kind, listener) {
    (this.listeners[kind] ??= []).push(listener);
  }
  click() {
    for (const listener of this.listeners.click ?? []) listener({});
  }
  contains(other) {
    return other === this || this.children.some((child) => child.contains(other));
  }
  // The nodes of a class, in order.
  all(name) {
    return this.children.flatMap((node) => [...(node.classList.has(name) ? [node] : []), ...node.all(name)]);
  }
  querySelectorAll() {
    return [];
  }
  querySelector() {
    return null;
  }
  closest() {
    return null;
  }
  matches(selector) {
    return this.classList.has(selector.slice(1));
  }
  focus() {
    document.activeElement = this;
  }
  setPointerCapture() {}
}

class Fragment extends Node {}

class Template extends Node {
  set innerHTML(html) {
    this.content = new Fragment("");
    for (const [, tag, text] of html.matchAll(/<(\w+)[^>]*>(.*?)<\/\1>/gs)) {
      const node = new Node(tag);
      node.textContent = text;
      this.content.nodes.push(node);
    }
  }
}

class Observer {
  observe() {}
  disconnect() {}
}

// Timers wait until a test lets the time pass.
export const timers = new Map();
let timer = 0;

Object.assign(globalThis, {
  document: {
    createElement: (tag) => new (tag === "template" ? Template : Node)(tag),
    getElementById: (id) => document.body.children.find((node) => node.getAttribute("id") === id),
    querySelector: () => null,
    querySelectorAll: () => [],
  },
  window: globalThis,
  Node,
  HTMLElement: Node,
  ResizeObserver: Observer,
  MutationObserver: Observer,
  addEventListener() {},
  removeEventListener() {},
  requestAnimationFrame: (act) => act(),
  cancelAnimationFrame() {},
  setInterval: () => 0,
  clearInterval() {},
  setTimeout(act, ms) {
    timers.set(++timer, { act, ms });
    return timer;
  },
  clearTimeout: (id) => timers.delete(id),
});
document.body = new Node("body");
document.head = new Node("head");
Object.defineProperty(globalThis, "navigator", { value: { platform: "Linux" }, configurable: true });

/** Let the timers of a length come to their end. */
export function pass(ms) {
  for (const [id, entry] of Array.from(timers)) {
    if (entry.ms !== ms) continue;
    timers.delete(id);
    entry.act();
  }
}

/** A widget's model, with a notebook of some cells around it. */
export class Model {
  constructor(ids = ["a", "b"]) {
    this.sent = [];
    this.values = {};
    this.listeners = {};
    const signal = { connect() {}, disconnect() {} };
    const made = (id, cell = {}) => ({
      id, cell, type: cell.cell_type ?? "code", mimeType: "text/x-ipython", executionState: "idle",
      contentChanged: signal, mimeTypeChanged: signal, sharedModel: { getSource: () => cell.source ?? "" },
      getMetadata: (key) => cell.metadata?.[key], deleteMetadata: (key) => delete cell.metadata[key],
      setMetadata: (key, value) => { cell.metadata = { ...cell.metadata, [key]: value }; },
    });
    const cells = ids.map((id) => made(id));
    const list = { get length() { return cells.length; }, get: (index) => cells[index], changed: signal };
    const sharedModel = {
      insertCell: (index, cell) => cells.splice(index, 0, made(cell.id ?? "new", cell)),
      deleteCell: (index) => cells.splice(index, 1),
      transact: (change) => change(),
    };
    this.cells = cells;
    this.widget_manager = { context: { model: { cells: list, sharedModel }, path: "folder/lesson.ipynb", disposed: signal } };
  }
  on(name, listener) {
    this.listeners[name] = listener;
  }
  off(name) {
    delete this.listeners[name];
  }
  send(message) {
    if (this.gone) throw new Error("no kernel");
    this.sent.push(message);
  }
  /** Receive a message of the kernel. */
  receive(message) {
    this.listeners["msg:custom"]?.(message);
  }
  get(name) {
    return this.values[name] ?? "";
  }
  set(name, value) {
    this.values[name] = value;
  }
  save_changes() {
    this.saved = { ...this.values };
  }
  /** The messages sent since the last call, without the view's name. */
  take() {
    return this.sent.splice(0).map(({ view, ...message }) => message);
  }
}

/** The views of a model's notebook in the page: none, unless panels are given. */
export function viewsOf(model, { panels = [], actions = {} } = {}) {
  const signal = { connect() {}, disconnect() {} };
  const tracker = { filter: (test) => panels.filter(test), widgetAdded: signal };
  return new NotebookViews(model.widget_manager.context, tracker, actions);
}

/** Examples of each message, which the kernel's tests read, too. */
export function samples(name) {
  const url = new URL("../samples/messages.json", import.meta.url);
  return JSON.parse(readFileSync(url, "utf8"))[name];
}

/** Whether examples have a message of this form. */
export function isListed(name, message) {
  const form = (value) => JSON.stringify(Object.keys(value).filter((key) => key !== "view").sort());
  return samples(name).some((sample) => sample.kind === message.kind && form(sample) === form(message));
}
