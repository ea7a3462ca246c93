// The chat panel. The kernel holds the conversation; a view asks for it when it opens
// (`hello`), and is told what is new from then on.

const PATIENCE = 3000;
/** How many views this page has opened. */
let opened = 0;
const LOST = "This panel has lost its kernel: run its cell again. What is typed stays.";
const NO_CELLS = "This front end lets nobody make cells; ";

/**
 * Whether a key is a shortcut for the page: no key that types, edits, moves or runs a cell.
 * @param {KeyboardEvent} event
 */
function isForPage(event) {
  if (/^F\d+$/.test(event.key)) return true;
  if (event.key.length > 1 || event.getModifierState("AltGraph")) return false;
  const edits = event.shiftKey ? "vz" : "acvxyz";
  if (event.ctrlKey || event.metaKey) return !edits.includes(event.key.toLowerCase());
  // On a Mac, Option types.
  return event.altKey && !navigator.platform.startsWith("Mac");
}

class ChatView {
  constructor(model, el) {
    this.model = model;
    this.el = el;
    this.view = Math.random().toString(36).slice(2);
    this.ready = false;
    /** @type {?{nonce: string, text: string, timer: number}} sent, and not yet heard of */
    this.pending = null;
    /** @type {?number} the key of what this view asked last */
    this.own = null;
    /** @type {?number} the key of the reply of which this view last was the one to speak */
    this.spoken = null;
    /** Whether the kernel is gone, as far as is known: what was under way never ends. */
    this.gone = false;
    /** @type {?number} the key of the reply that this view has stopped */
    this.stopped = null;
    /** @type {?number} the key of what this view took back before it was sent */
    this.withdrawn = null;
    this.editing = null;
    this.recalled = null;
    /** The timer by which the kernel is told what is typed, where it has not been. */
    this.draftTimer = 0;
    this.state = {};
    this.gauge = new Gauge(false);
    this.log = new Log(model, {
      copy: (text, what) => this.copy(text, what),
      cell: (text) => this.newCell(text),
      again: (n, text) => this.ask(text, n, true),
      edit: (n, text) => this.edit(n, text),
      put: (turns) => this.put(turns),
      earlier: () => this.say({ kind: "earlier", before: this.log.first() }),
    });
    this.build();
    this.hear = (message) => this.take(message);
    this.press = (event) => this.root.contains(event.target) && this.key(event);
    this.liveness = () => this.checkKernel();
    // Notebook 7 looks for shortcuts before a key reaches the panel, JupyterLab after.
    window.addEventListener("keydown", this.press, true);
    model.on("msg:custom", this.hear);
    model.on("comm_live_update", this.liveness);
    // Of a kernel that was shut down no widget is told in a page that was loaded again.
    this.unfollow = followKernel(model, this.liveness);
    panelViews(model).add(this);
    this.say({ kind: "hello", first: opened++ === 0 });
    // One message after the view is drawn lets newer kernels route the next ones past a busy cell.
    this.ping = setTimeout(() => this.say({ kind: "ping" }), 1000);
  }

  close() {
    clearTimeout(this.ping);
    if (this.draftTimer) this.sendDraft();
    clearTimeout(this.lost);
    clearTimeout(this.impatient);
    panelViews(this.model).delete(this);
    window.removeEventListener("keydown", this.press, true);
    this.gauge.stop();
    this.log.resized.disconnect();
    this.sized.disconnect();
    this.model.off("msg:custom", this.hear);
    this.model.off("comm_live_update", this.liveness);
    this.unfollow();
  }

  say(message) {
    try {
      this.model.send({ ...message, view: this.view });
    } catch {
      this.lose();
    }
  }

  lose() {
    clearTimeout(this.lost);
    if (this.pending) this.forget(true);
    this.gone = true;
    panelViews(this.model).delete(this);
    if (this.input.value) keepLostDraft(this.model, this.input.value);
    this.announce(LOST, true);
    this.showState();
    this.refresh();
  }

  /** What was lost answers after all: it was busy, or the network was away. */
  find() {
    this.gone = false;
    panelViews(this.model).add(this);
    takeLostDraft(this.model);
    this.announce("The kernel is back.");
    this.showState();
  }

  build() {
    this.root = make("section", "chatmagic-panel mathjax_ignore", "", { "aria-label": "Chat" });
    this.badge = make("span", "cm-badge");
    this.badge.hidden = true;
    this.undo = button("undo", "Undo", () => this.say({ kind: "step", step: "undo" }));
    this.redo = button("redo", "Redo", () => this.say({ kind: "step", step: "redo" }));
    this.clear = button("clear", "Clear the conversation", () => this.say({ kind: "step", step: "clear" }));
    this.putAll = button("cell", "Put all turns of the panel into the notebook", () => this.put(null));
    const tools = make("div", "cm-tools", "", { role: "group", "aria-label": "Conversation tools" });
    tools.append(this.putAll, this.undo, this.redo, this.clear);
    for (const node of [this.undo, this.redo, this.clear]) {
      node.addEventListener("click", () => this.input.focus({ preventScroll: true }));
    }
    const head = make("div", "cm-head");
    head.append(make("span", "cm-title", "Chat", { "aria-hidden": "true" }), this.badge, this.gauge.node, tools);
    this.settings = make("details", "cm-settings");
    this.settings.append(make("summary", "", "Settings in force"));
    this.rows = this.settings.appendChild(make("dl"));
    const frame = make("div", "cm-frame");
    frame.append(this.log.node, this.log.down);
    // In the order of Tab, which begins at the prompt; the style sheet shows it from below.
    this.root.append(make("h2", "cm-unseen", "Chat"), this.buildComposer(), frame, this.settings, head);
    for (const kind of ["keyup", "keypress", "paste", "copy", "cut"]) {
      this.root.addEventListener(kind, (event) => event.stopPropagation());
    }
    this.el.classList.add("chatmagic-live");
    this.el.append(this.root);
    const lost = takeLostDraft(this.model);
    this.write(this.model.get("draft") || lost, true);
    this.refresh();
  }

  buildComposer() {
    const composer = make("div", "cm-composer");
    this.banner = make("div", "cm-banner");
    this.banner.hidden = true;
    this.input = make("textarea", "cm-input", "", {
      rows: "1",
      dir: "auto",
      "aria-label": "Prompt",
      placeholder: "Ask something",
    });
    this.send = button("send", "Send", () => this.submit(), "Send");
    this.send.classList.add("cm-send");
    this.halt = button("stop", "Stop", () => this.stop(), "Stop");
    this.halt.classList.add("cm-stop");
    // What streams moves it away between press and release: a press on it is a click on it.
    this.halt.addEventListener("pointerdown", (event) => this.halt.setPointerCapture(event.pointerId));
    const row = make("div", "cm-row");
    row.append(this.input, this.halt, this.send);
    this.status = make("div", "cm-status", "", { role: "status", "aria-live": "polite" });
    const foot = make("div", "cm-under");
    foot.append(this.status, make("div", "cm-keys", "Enter sends · Shift+Enter new line · Esc stops"));
    composer.append(this.banner, row, foot);
    // What is typed, or the placeholder, takes other lines in another width.
    let width = 0;
    this.sized = new ResizeObserver(([entry]) => {
      if (entry.contentRect.width !== width) this.grow();
      width = entry.contentRect.width;
    });
    this.sized.observe(this.input);
    this.input.addEventListener("blur", () => this.draftTimer && this.sendDraft());
    this.input.addEventListener("input", () => {
      this.recalled = null;
      this.grow();
      this.keepDraft();
      this.refresh();
    });
    return composer;
  }

  // What the kernel says.

  take(message) {
    if (message.view && message.view !== this.view) return;
    if (!this.ready && message.kind !== "all") return;
    if (this.gone) this.find();
    const handle = this[`on_${message.kind}`];
    if (handle) handle.call(this, message);
    this.refresh();
  }

  on_all(message) {
    this.ready = true;
    this.log.clear();
    this.log.showEarlier(message.earlier);
    this.log.prepend(message.turns);
    this.update(message);
    for (const live of message.live) this.log.showLive(live);
    this.log.follow(true);
    if (message.reloaded) this.say({ kind: "saved" });
  }

  on_again(message) {
    this.over(message, this.log.live.get(message.key));
    this.log.endLive(message.key);
    this.say({ kind: "hello", reloaded: this.state.reloaded });
  }

  /** A cell has set something, or chosen another service. */
  on_standing(message) {
    this.update(message);
  }

  on_earlier(message) {
    this.log.prepend(message.turns);
    this.log.showEarlier(message.earlier);
    this.log.showAsides(this.log.asides);
    if (this.log.earlier.hidden) this.log.node.focus({ preventScroll: true });
  }

  on_changed(message) {
    const ours = message.key !== undefined && this.log.live.get(message.key);
    this.log.endLive(message.key);
    for (const n of message.gone) this.log.remove(n);
    for (const turn of message.turns) this.log.add(turn);
    for (const [n, by, notes] of message.notes) this.log.note(n, by, notes);
    this.update(message);
    this.over(message, ours);
    if (this.state.reloaded) this.say({ kind: "saved" });
    this.log.follow(Boolean(ours && ours.live.mine && this.log.follows));
  }

  /** Draw what comes with every change. */
  update(message) {
    this.state = { ...this.state, ...message };
    this.gauge.show(message.credits);
    if (message.asides) this.log.showAsides(message.asides);
    this.log.showEmpty();
    this.showState();
    this.rows.replaceChildren(
      ...message.standing.rows.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value, { dir: "auto" })]),
    );
  }

  /** The state in a word: the kernel's, or that there is none. */
  showState() {
    const state = this.gone ? "no kernel" : this.state.standing && this.state.standing.state;
    this.badge.textContent = state || "";
    this.badge.hidden = !state;
    this.root.classList.toggle("cm-gone", this.gone);
    this.log.lose(this.gone);
  }

  /** An ask is over: say so, and give a prompt that failed back. */
  over(message, entry) {
    if (message.said === undefined || message.key === this.withdrawn) return;
    // Who has said that a reply began says how it ends: the bridge may have come in between.
    const ours = Boolean(entry) && entry.live.key === this.spoken;
    this.announce(message.said, !message.fine, Boolean(entry) && !ours && this.elsewhere(entry.live));
    // It stands in full in the log.
    this.status.classList.toggle("cm-brief", !message.fine);
    clearTimeout(this.impatient);
    if (message.back !== null && message.back !== undefined && !this.input.value) this.write(message.back);
  }

  /** The kernel is ready to ask: let it, unless the reader has taken the prompt back. */
  on_offer(message) {
    const wanted = this.pending && this.pending.nonce === message.nonce;
    this.say({ kind: wanted ? "go" : "stop", key: message.key });
    if (!wanted) {
      this.withdrawn = message.key;
      return;
    }
    this.own = message.key;
    this.forget();
  }

  on_live(message) {
    this.log.showLive(message);
    this.log.showEmpty();
    const elsewhere = this.elsewhere(message);
    if (message.stage === "waiting") this.announce(message.note, false, elsewhere);
    else if (message.stage === "began" && !elsewhere) this.spoken = message.key;
  }

  on_pong() {
    clearTimeout(this.lost);
  }

  /** After a reload only the page can still reach the output that is saved. */
  on_saved(message) {
    saveOutput(this.model, this.el, message.data);
  }

  on_text(message) {
    const entry = this.log.live.get(message.key);
    if (entry && !entry.begun) {
      const { mine, by, key } = entry.live;
      this.announce(mine ? "Reply started." : `Reply to ${by} started.`, false, key !== this.spoken);
      entry.begun = true;
    }
    this.log.showText(message.key, message.html);
  }

  on_refused(message) {
    if (!this.pending || this.pending.nonce !== message.nonce) return;
    const text = this.pending.text;
    this.forget(true);
    this.announce(message.why, true);
    if (!this.input.value) this.write(text);
  }

  on_stopping() {
    clearTimeout(this.impatient);
  }

  on_said(message) {
    this.announce(message.words);
  }

  on_insert(message) {
    let count = 0;
    for (const { turn, after, before, cell } of message.cells) {
      const ids = cellIds(this.model);
      let place = placeOf(this.model, this.el) + 1;
      if (ids.includes(after)) place = ids.indexOf(after) + 1;
      else if (ids.includes(before)) place = ids.indexOf(before);
      const id = insertCell(this.model, place, cell);
      if (id === null) break;
      count += 1;
      this.say({ kind: "placed", turn, cell: id });
    }
    const cells = `${count} cell${count === 1 ? "" : "s"}`;
    if (message.cells.length === 0) this.announce("There is nothing of the panel to put into the notebook.");
    else if (count) this.announce(`Put into the notebook as ${cells}.`);
    else this.announce(`${NO_CELLS}ask in a %%chat cell instead.`, true);
  }

  // What the reader does.

  submit() {
    const text = this.input.value;
    if (!text.trim()) return this.announce("Nothing is typed yet.");
    if (this.gone) return this.seek();
    if (this.busy()) return this.announce("A question from the panel is under way; Escape stops it.");
    const instead = this.editing ? this.editing.n : undefined;
    if (this.editing) this.stopEditing(this.editing.draft);
    this.ask(text, instead);
  }

  /**
   * @param {string} text
   * @param {number} [instead] the turn that the new one replaces
   * @param {boolean} [again] whether it is asked letter for letter as before
   */
  ask(text, instead, again) {
    if (this.gone) return this.seek();
    if (this.busy()) return this.announce("A question from the panel is under way; Escape stops it.");
    const nonce = Math.random().toString(36).slice(2);
    const timer = setTimeout(
      () => this.announce("The kernel has not answered yet: it is busy, or gone. Escape takes the prompt back."),
      PATIENCE,
    );
    this.pending = { nonce, text, timer };
    this.recalled = null;
    this.log.follow(true);
    this.announce("Sending.");
    const sent = again ? null : text.replace(/\n+$/, "");
    this.say({ kind: "ask", nonce, text: sent, ...(instead ? { instead } : {}) });
    this.input.focus({ preventScroll: true });
    this.refresh();
  }

  stop() {
    const live = Array.from(this.log.live.values(), (entry) => entry.live);
    const one = live.find((each) => each.mine) || live[live.length - 1];
    if (this.pending) {
      const text = this.pending.text;
      this.forget(true);
      this.announce("Taken back before it was sent.");
      if (!this.input.value) this.write(text);
    } else if (one && !this.gone) {
      this.say({ kind: "stop", key: one.key });
      if (this.stopped !== one.key) this.announce("Stopping.");
      this.stopped = one.key;
      if (one.mine) this.excuse(one);
      else this.insist(one);
    } else if (this.editing) this.stopEditing(this.editing.draft);
    this.input.focus({ preventScroll: true });
    this.refresh();
  }

  /** Kernels of old hear nothing while a cell runs; an interrupt would end that cell, so it is not ours to send. */
  excuse(one) {
    clearTimeout(this.impatient);
    this.impatient = setTimeout(() => {
      if (this.gone || !this.log.live.has(one.key)) return;
      this.announce("The kernel is busy with a cell, and hears Stop when that ends or is interrupted.", true);
    }, PATIENCE);
  }

  /** A kernel that is busy with the cell may not hear us: interrupt it, if it still streams. */
  insist(one) {
    clearTimeout(this.impatient);
    this.impatient = setTimeout(() => {
      if (!this.log.live.has(one.key)) return;
      if (interruptKernel(this.model)) this.announce("Interrupting the kernel.");
      else this.announce("This front end lets nobody interrupt from here: use its own Stop button.", true);
    }, 700);
  }

  edit(n, prompt) {
    this.editing = { n, draft: this.editing ? this.editing.draft : this.input.value };
    this.banner.textContent = "Editing a past prompt: the new reply takes the old one's place. Escape leaves it.";
    this.banner.hidden = false;
    this.announce("");
    this.write(prompt);
    this.input.focus();
  }

  stopEditing(text) {
    this.editing = null;
    this.banner.hidden = true;
    this.write(text);
  }

  put(turns) {
    const cells = cellIds(this.model);
    if (this.gone) return this.seek();
    if (!notebookModel(this.model)) return this.announce(`${NO_CELLS}ask in a %%chat cell instead.`, true);
    this.say({ kind: "put", turns, cells });
    this.input.focus({ preventScroll: true });
  }

  async newCell(code) {
    const place = placeOf(this.model, this.el) + 1;
    const cell = { cell_type: "code", source: code.replace(/\n$/, ""), metadata: {} };
    if (insertCell(this.model, place, cell) !== null) {
      scrollToCell(this.el, place);
      return this.announce("Put into a new cell below.");
    }
    const copied = await copyText(code);
    this.announce(`${NO_CELLS}${copied ? "the code is on the clipboard." : "copy it by hand."}`, true);
  }

  async copy(text, what) {
    const done = await copyText(text);
    this.announce(done ? `${what} is on the clipboard.` : "This page may not use the clipboard.", !done);
  }

  key(event) {
    if (isForPage(event)) return;
    event.stopPropagation();
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") {
      event.preventDefault();
      this.stop();
    } else if (event.target !== this.input) {
      return;
    } else if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      this.submit();
    } else if (event.key === "ArrowUp" && (!this.input.value || this.recalled !== null)) {
      this.recall(event, 1);
    } else if (event.key === "ArrowDown" && this.recalled !== null) {
      this.recall(event, -1);
    }
  }

  /** Bring back a prompt, further up at each step, while it is not changed. */
  recall(event, step) {
    const failed = this.log.asides.filter((aside) => aside.mine).map((aside) => aside.prompt);
    const asked = Array.from(this.log.turns.values(), (entry) => entry.turn.prompt);
    const prompts = [...asked, ...failed].reverse();
    const at = (this.recalled === null ? -1 : this.recalled) + step;
    if (at >= prompts.length) return;
    event.preventDefault();
    this.write(at < 0 ? "" : prompts[at]);
    this.recalled = at < 0 ? null : at;
  }

  // Small things.

  busy() {
    if (this.pending) return true;
    return !this.gone && Array.from(this.log.live.values()).some((entry) => entry.live.mine);
  }

  /** @param {boolean} [keep] what is typed */
  forget(keep) {
    if (this.pending) clearTimeout(this.pending.timer);
    if (this.pending && !keep && this.input.value === this.pending.text) this.write("");
    this.pending = null;
  }

  /** Whether a screen reader hears of an ask from somewhere else: the view that asked, the bridge, an older view. */
  elsewhere(live) {
    if (live.mine) return live.key !== this.own;
    const oldest = panelViews(this.model).values().next().value || this;
    return bridgeSpeaks(this.model) || oldest !== this;
  }

  /**
   * @param {string} words
   * @param {boolean} [wrong]
   * @param {boolean} [elsewhere] whether they are shown only, for they are said elsewhere
   */
  announce(words, wrong, elsewhere) {
    this.status.setAttribute("aria-live", elsewhere ? "off" : "polite");
    this.status.textContent = words;
    this.status.classList.toggle("cm-wrong", Boolean(wrong));
    this.status.classList.remove("cm-brief");
  }

  write(text, quiet) {
    this.input.value = text;
    this.recalled = null;
    this.grow();
    if (!quiet) this.keepDraft();
  }

  /** Keep what is typed for the next view; what the kernel echoes of it is late, and ignored. */
  keepDraft() {
    clearTimeout(this.draftTimer);
    this.draftTimer = 0;
    if (this.gone) return keepLostDraft(this.model, this.input.value);
    try {
      // A view that opens at once finds it here; the kernel, which shows the next panel, is told rarely.
      this.model.set("draft", this.input.value);
      this.draftTimer = setTimeout(() => this.sendDraft(), 400);
    } catch {
      this.lose();
    }
  }

  sendDraft() {
    clearTimeout(this.draftTimer);
    this.draftTimer = 0;
    try {
      this.model.save_changes();
    } catch {
      this.lose();
    }
  }

  grow() {
    this.input.style.height = "auto";
    const height = this.input.scrollHeight;
    if (height) this.input.style.height = `${height + 2}px`;
  }

  refresh() {
    const live = Boolean(this.pending) || (this.log.live.size > 0 && !this.gone);
    const can = !live && !this.gone;
    this.halt.hidden = !live;
    enable(this.send, !this.busy() && !this.gone);
    enable(this.undo, this.state.undo && can);
    enable(this.redo, this.state.redo && can);
    enable(this.clear, this.state.count > 0 && can);
    const mine = Array.from(this.log.turns.values()).some((entry) => entry.turn.mine);
    enable(this.putAll, mine && can);
    this.root.classList.toggle("cm-busy", live);
  }

  /** Somebody wants something of a kernel that is gone, as far as is known: look again. */
  seek() {
    this.announce(LOST, true);
    this.checkKernel();
  }

  /** The connection has changed: ask whether the kernel still knows us. */
  checkKernel() {
    clearTimeout(this.lost);
    this.lost = setTimeout(() => this.lose(), PATIENCE);
    this.say({ kind: "ping" });
  }
}

function render({ model, el }) {
  const view = new ChatView(model, el);
  return () => view.close();
}

export default { render };
