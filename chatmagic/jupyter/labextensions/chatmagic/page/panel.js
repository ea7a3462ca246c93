// The chat panel: a view of the kernel's conversation. The kernel lists the entries
// (snapshots of ids and versions); the view asks for missing entries and draws them.

import { Asking, KernelConnection } from "./panel_asks.js";
import { CellExport } from "./code.js";
import { Composer, isForFrontEnd } from "./composer.js";
import { arrange, button, enable, make } from "./dom.js";
import { Gauge } from "./gauge.js";
import { Log } from "./message_list.js";
import { keepLostDraft, panelViews, saveOutput, takeLostDraft } from "./notebook.js";
import { Store } from "./store.js";

const LOST = "This panel has lost its kernel: run its cell again. What is typed stays.";

/** Number of views that this page has opened. */
let opened = 0;

/** The head of the panel: title, state, gauge, and the tools of the conversation. */
class Header {
  /**
   * @param {(step: "undo"|"redo"|"clear") => void} step
   * @param {() => void} putAll
   * @param {(thread: string) => void} choose
   */
  constructor(step, putAll, choose) {
    this.gauge = new Gauge();
    this.badge = make("span", "cm-badge");
    this.badge.hidden = true;
    this.putAll = button("cell", "Put all turns of the panel into the notebook", putAll);
    this.undo = button("undo", "Undo", () => step("undo"));
    this.redo = button("redo", "Redo", () => step("redo"));
    this.clear = button("clear", "Clear the conversation", () => step("clear"));
    this.thread = make("select", "cm-thread", "", { "aria-label": "Thread" });
    this.thread.hidden = true;
    this.thread.addEventListener("change", () => choose(this.thread.value));
    const tools = [this.putAll, this.undo, this.redo, this.clear];
    this.node = make("div", "cm-head", [
      make("span", "cm-title", "Chat", { "aria-hidden": "true" }),
      this.badge,
      this.thread,
      this.gauge.node,
      make("div", "cm-tools", tools, { role: "group", "aria-label": "Conversation tools" }),
    ]);
  }

  close() {
    this.gauge.stop();
  }

  /** @param {string} state in a word */
  showState(state) {
    this.badge.textContent = state;
    this.badge.hidden = !state;
  }

  /**
   * Offer the threads if there are several; the kernel decides which one is shown.
   * @param {string[]} names
   * @param {string} shown
   */
  showThreads(names, shown) {
    this.thread.hidden = names.length < 2;
    const known = Array.from(this.thread.children, (option) => option.textContent);
    if (known.join() !== names.join()) {
      this.thread.replaceChildren(...names.map((name) => make("option", "", name)));
    }
    this.thread.value = shown;
  }

  /** @param {Store} store @param {boolean} can whether anything can be changed now */
  enable(store, can) {
    enable(this.putAll, can && store.turns().some((turn) => turn.mine));
    enable(this.undo, can && store.state?.undo);
    enable(this.redo, can && store.state?.redo);
    enable(this.clear, can && store.state?.count);
    this.thread.disabled = !can;
  }
}

/** The settings, folded: the model of the panel's questions, which can be chosen, and the others. */
class Settings {
  /** @param {string} id of the list of models, in this page @param {(model: string) => void} choose */
  constructor(id, choose) {
    this.isTyping = false;
    this.chosen = "";
    this.models = make("datalist", "", "", { id });
    const hints = { "aria-label": "Model", list: id, autocomplete: "off", spellcheck: "false" };
    this.model = make("input", "cm-model", "", hints);
    this.model.addEventListener("input", () => (this.isTyping = true));
    this.model.addEventListener("change", () => {
      this.isTyping = false;
      choose(this.model.value);
    });
    this.first = [make("dt", "", "Model"), make("dd", "", [this.model, this.models])];
    this.rows = make("dl");
    this.summary = make("summary");
    this.node = make("details", "cm-settings", [this.summary, this.rows]);
  }

  /** Show the chosen model in place of a typed one. */
  reset() {
    this.isTyping = false;
    this.model.value = this.chosen;
  }

  /** @param {import("./messages.js").Snapshot} snapshot */
  show({ model, standing }) {
    this.chosen = model;
    if (!this.isTyping) this.reset();
    this.model.placeholder = standing.model || "none is named";
    this.models.replaceChildren(...standing.models.map((value) => make("option", "", "", { value })));
    this.summary.textContent = model ? `Current settings, model ${model}` : "Current settings";
    const rows = standing.rows.map(([name, value]) => {
      return [make("dt", "", name), make("dd", "", value, { dir: "auto" })];
    });
    arrange(this.rows, [...this.first, ...rows.flat()]);
  }
}

export class ChatView {
  /** @param {import("./notebook.js").Model} model @param {HTMLElement} element */
  constructor(model, element) {
    this.model = model;
    this.element = element;
    this.reloaded = false;
    this.store = new Store();
    this.connection = new KernelConnection(model, {
      onMessage: (message) => this.receive(message),
      onLost: () => this.lose(),
      onBack: () => this.comeBack(),
    });
    this.composer = new Composer(model, this.connection, {
      submit: () => this.submit(),
      stop: () => this.stop(),
      prompts: () => this.store.prompts(),
    });
    this.asking = new Asking(model, this.connection, this.store, this.composer);
    this.cells = new CellExport(model, element, this.connection, this.composer);
    this.header = new Header(
      (step) => this.step(step),
      () => this.put(null),
      (thread) => this.connection.send({ kind: "thread", thread }),
    );
    this.log = new Log(model, this.store, {
      copy: (text, what) => void this.cells.copy(text, what),
      newCell: (code) => void this.cells.newCell(code),
      askAgain: (turn, prompt) => this.ask(prompt, turn, true),
      edit: (turn, prompt) => this.composer.edit(turn, prompt),
      pick: (turn, reply) => {
        this.connection.send({ kind: "pick", turn, reply });
        this.composer.focus();
      },
      put: (turns) => this.put(turns),
      showEarlier: () => this.connection.send(this.store.wantEarlier()),
    });
    this.settings = new Settings(`cm-models-${this.connection.view}`, (model) => {
      this.connection.send({ kind: "model", model });
    });
    this.node = this.layout();
    this.key = this.key.bind(this);
    // Notebook 7 handles shortcuts before a key reaches the panel, JupyterLab after that.
    window.addEventListener("keydown", this.key, true);
    element.classList.add("chatmagic-live");
    element.append(this.node);
    this.composer.grow();
    this.refresh();
    panelViews(model).add(this.connection);
    this.connection.send({ kind: "sync", first: opened++ === 0 });
  }

  layout() {
    // In the order of Tab, which begins at the prompt. The style sheet shows them from below.
    const parts = [
      make("h2", "cm-unseen", "Chat"),
      this.composer.node,
      make("div", "cm-frame", [this.log.node, this.log.scroll.down]),
      this.settings.node,
      this.header.node,
    ];
    const node = make("section", "chatmagic-panel mathjax_ignore", parts, { "aria-label": "Chat" });
    for (const kind of ["keyup", "keypress", "paste", "copy", "cut"]) {
      node.addEventListener(kind, (event) => event.stopPropagation());
    }
    node.addEventListener("input", () => this.refresh());
    return node;
  }

  close() {
    window.removeEventListener("keydown", this.key, true);
    panelViews(this.model).delete(this.connection);
    this.composer.close();
    this.asking.close();
    this.connection.close();
    this.header.close();
    this.log.close();
  }

  // Messages of the kernel.

  /** @param {import("./messages.js").FromKernel} message */
  receive(message) {
    // Before the kernel's first answer, there is no content that a message could change.
    if (!this.store.state && !(message.kind === "snapshot" && message.view)) return;
    switch (message.kind) {
      case "snapshot": this.takeSnapshot(message); break;
      case "entries": this.request(this.store.takeEntries(message.entries)); break;
      case "pending": this.takePending(message); break;
      // It changes nothing else of the view.
      case "paint": return this.log.painter.take(message);
      case "offer": this.asking.takeOffer(message); break;
      case "stopping": this.asking.takeStopping(); break;
      case "notice": this.asking.takeNotice(message); break;
      case "insert": this.cells.insert(message); break;
      // After a reload only the page can still reach the output that is saved.
      case "saved": saveOutput(this.model, this.element, message.data); break;
    }
    this.refresh();
  }

  /** @param {import("./messages.js").Snapshot} snapshot */
  takeSnapshot(snapshot) {
    const ask = snapshot.ended ? this.store.pending.get(snapshot.ended.live) : undefined;
    const first = !this.store.state;
    this.reloaded ||= Boolean(snapshot.reloaded);
    this.request(this.store.takeSnapshot(snapshot));
    this.header.gauge.show(snapshot.credits);
    this.header.showThreads(snapshot.threads, snapshot.thread);
    this.settings.show(snapshot);
    if (snapshot.ended) this.asking.takeEnd(snapshot.ended, ask);
    if (this.reloaded) this.connection.send({ kind: "save" });
    if (first) this.log.scroll.follow(true);
  }

  /**
   * Draw the received entries, and ask for the missing ones.
   * @param {import("./messages.js").FromPage[]} messages
   */
  request(messages) {
    for (const message of messages) this.connection.send(message);
    this.log.draw();
  }

  /** @param {import("./messages.js").PendingMessage} ask */
  takePending(ask) {
    const begins = this.store.takePending(ask);
    this.log.draw();
    this.log.scroll.follow(ask.mine && !begins);
    this.asking.takePending(ask);
    if (begins) this.asking.replyStarted(ask);
  }

  // Actions of the user.

  submit() {
    const { text, editing } = this.composer;
    if (!text.trim()) return this.composer.announce("Nothing is typed yet.");
    if (this.connection.lost || this.asking.busy) return void this.ask(text);
    if (editing) this.composer.stopEditing();
    this.ask(text, editing?.turn);
  }

  /**
   * @param {string} text
   * @param {?number} [replaces]
   * @param {boolean} [again]
   */
  ask(text, replaces, again) {
    if (this.seek()) return;
    if (!this.asking.busy) this.log.scroll.follow(true);
    this.asking.ask(text, replaces, again);
    this.refresh();
  }

  stop() {
    this.asking.stop();
    this.composer.focus();
    this.refresh();
  }

  /** @param {"undo"|"redo"|"clear"} step */
  step(step) {
    this.connection.send({ kind: "step", step });
    this.composer.focus();
  }

  /** @param {?number[]} turns */
  put(turns) {
    if (!this.seek()) this.cells.put(turns);
  }

  /** @param {KeyboardEvent} event anywhere in the page */
  key(event) {
    if (!(event.target instanceof Node) || !this.node.contains(event.target)) return;
    if (isForFrontEnd(event)) return;
    event.stopPropagation();
    // 229: an input method is composing, in browsers without `isComposing`.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") {
      event.preventDefault();
      this.settings.reset();
      this.stop();
    } else if (event.target === this.composer.input) {
      this.composer.key(event);
    }
  }

  // Loss and return of the kernel.

  /** Look again for a lost kernel. @returns {boolean} whether it is lost */
  seek() {
    if (!this.connection.lost) return false;
    this.composer.announce(LOST, { wrong: true });
    this.connection.check();
    return true;
  }

  lose() {
    this.asking.forget(true);
    panelViews(this.model).delete(this.connection);
    if (this.composer.text) keepLostDraft(this.model, this.composer.text);
    this.composer.announce(LOST, { wrong: true });
    this.refresh();
  }

  comeBack() {
    panelViews(this.model).add(this.connection);
    takeLostDraft(this.model);
    this.composer.announce("The kernel is back.");
  }

  /** Show the possible actions. */
  refresh() {
    const { lost } = this.connection;
    const { active } = this.asking;
    this.node.classList.toggle("cm-busy", active);
    this.node.classList.toggle("cm-gone", lost);
    this.composer.enable(active, !this.asking.busy && !lost);
    this.header.enable(this.store, !active && !lost);
    this.header.showState(lost ? "no kernel" : this.store.state?.standing.state ?? "");
    this.settings.model.disabled = lost;
    this.log.lose(lost);
  }
}

/** @param {{model: import("./notebook.js").Model, el: HTMLElement}} widget */
function render({ model, el }) {
  const view = new ChatView(model, el);
  return () => view.close();
}

export default { render };
