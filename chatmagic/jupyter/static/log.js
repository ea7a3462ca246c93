// The log: turns, what failed between them, and the reply under way. Replies come as HTML
// that the kernel has made safe; everything else is put in as text.

const SHAPES = {
  copy: "M5 2h8v9h-1.5V3.5H5zM3 4.5h7.5V14H3zM4.5 6v6.5H9V6z",
  retry: "M8 3a5 5 0 1 1-4.9 6h1.6A3.5 3.5 0 1 0 8 4.5V7L4.5 3.75 8 .5z",
  edit: "M11.6 1.6 14.4 4.4 5.6 13.2 2 14l.8-3.6zM10 5l1 1M3.9 11l1.1 1.1",
  cell: "M2 3h12v10H2zm1.5 1.5v7h9v-7zM7.25 6h1.5v1.25H10v1.5H8.75V10h-1.5V8.75H6v-1.5h1.25z",
  undo: "M6 2.5 2 6l4 3.5V7h3.5a2.5 2.5 0 0 1 0 5H5v1.5h4.5a4 4 0 0 0 0-8H6z",
  redo: "M10 2.5 14 6l-4 3.5V7H6.5a2.5 2.5 0 0 0 0 5H11v1.5H6.5a4 4 0 0 1 0-8H10z",
  clear: "M6 1.5h4V3h3.5v1.5h-11V3H6zM3.5 6h9l-.7 8.5H4.2zM5 7.5l.5 5.5h5l.5-5.5z",
  send: "M1.5 2.5 14.5 8l-13 5.5V9.2L9 8 1.5 6.8z",
  stop: "M3.5 3.5h9v9h-9z",
  down: "M7.25 2h1.5v8.1l3.2-3.2L13 8l-5 5-5-5 1.05-1.1 3.2 3.2z",
};

/** An icon and a name; the name is read to those who don't see the icon. */
function button(shape, name, act, words) {
  // A name that is read or shown already is no tip as well.
  const named = !words ? { title: name } : words === name ? {} : { "aria-label": name };
  const node = make("button", "cm-button", "", { type: "button", ...named });
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [key, value] of [["viewBox", "0 0 16 16"], ["aria-hidden", "true"]]) {
    svg.setAttribute(key, value);
  }
  path.setAttribute("d", SHAPES[shape]);
  svg.append(path);
  node.append(svg);
  if (words) node.append(make("span", "", words));
  node.addEventListener("click", () => node.getAttribute("aria-disabled") !== "true" && act());
  return node;
}

/** Say that a button cannot be used now, without taking the focus from it. */
function enable(node, can) {
  node.setAttribute("aria-disabled", String(!can));
}

/** A prompt with who asked it; its HTML is safe as it comes from the kernel. */
function promptNode(by, html) {
  const node = make("div", "cm-prompt");
  const who = by === "the panel" ? "You" : `You, in ${by}`;
  const text = make("div", "cm-text jp-RenderedHTMLCommon");
  text.innerHTML = html;
  // A heading, so that a reader can go from turn to turn, and those of a reply stand below it.
  node.append(make("h3", "cm-who", who), text);
  return node;
}

/** A reply's HTML, safe as it comes from the kernel. */
function replyNode(html) {
  const node = make("div", "cm-reply jp-RenderedHTMLCommon", "", { role: "group", "aria-label": "Reply" });
  node.innerHTML = html;
  return node;
}

class Log {
  /**
   * @param {any} model the widget's
   * @param {Object<string, Function>} acts what the buttons do
   */
  constructor(model, acts) {
    this.model = model;
    this.acts = acts;
    // Not read out as it grows: the status region says what happened, once.
    this.node = make("div", "cm-log", "", {
      role: "log",
      "aria-label": "Conversation",
      "aria-live": "off",
      tabindex: "0",
    });
    this.earlier = make("button", "cm-earlier", "", { type: "button" });
    this.earlier.addEventListener("click", () => acts.earlier());
    this.empty = make("p", "cm-empty");
    this.down = button("down", "Go to the newest text", () => this.follow(true), "Newest");
    this.down.classList.add("cm-down");
    this.down.hidden = true;
    this.follows = true;
    this.height = 0;
    this.top = 0;
    this.inner = this.node.appendChild(make("div", "cm-inner"));
    this.node.addEventListener("scroll", () => this.scrolled());
    // Formulas are typeset later than they are put in.
    this.resized = new ResizeObserver(() => this.follow(false));
    this.resized.observe(this.inner);
    this.resized.observe(this.node);
    this.clear();
  }

  clear() {
    this.turns = new Map();
    this.live = new Map();
    this.asides = [];
    this.inner.replaceChildren(this.earlier, this.empty);
    this.earlier.hidden = true;
    this.showEmpty();
  }

  /** Note whether the reader has scrolled up; a log that changes its height scrolls, too. */
  scrolled() {
    const rest = this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight;
    const up = this.node.scrollTop < this.top && this.node.scrollHeight === this.height;
    if (rest < 24) this.follows = true;
    else if (up) this.follows = false;
    this.noted();
  }

  noted() {
    this.top = this.node.scrollTop;
    this.height = this.node.scrollHeight;
    this.down.hidden = this.follows;
  }

  /** @param {boolean} always also for a reader who has scrolled up */
  follow(always) {
    if (always) this.follows = true;
    if (this.follows) this.node.scrollTop = this.node.scrollHeight;
    this.noted();
  }

  showEmpty() {
    const any = this.turns.size || this.live.size || this.asides.length;
    this.empty.hidden = Boolean(any);
    this.empty.textContent =
      "Nothing has been asked yet. What you ask here and in %%chat cells is one conversation.";
  }

  showEarlier(count) {
    this.earlier.hidden = !count;
    this.earlier.textContent = `Show earlier turns (${count.toLocaleString()} more)`;
  }

  first() {
    return this.turns.keys().next().value;
  }

  /** Put a turn behind the one that it stands behind. */
  add(turn) {
    const old = this.turns.get(turn.n);
    const node = this.drawTurn(turn);
    const before = this.turns.get(turn.after);
    if (old) old.node.replaceWith(node);
    else if (before) this.behind(before.node).after(node);
    else if (turn.after && this.turns.size && !this.earlier.hidden) return; // it is on an earlier page
    else if (turn.after) this.end(node);
    else this.behind(this.empty).after(node);
    this.turns.set(turn.n, { turn, node });
    typeset(this.model, node);
  }

  /** Turns that stand before all that are there. */
  prepend(turns) {
    const height = this.node.scrollHeight;
    const rest = this.turns;
    this.turns = new Map();
    const place = make("div");
    this.empty.after(place);
    for (const turn of turns) {
      const node = this.drawTurn(turn);
      place.before(node);
      this.turns.set(turn.n, { turn, node });
      typeset(this.model, node);
    }
    place.remove();
    for (const [n, entry] of rest) this.turns.set(n, entry);
    this.node.scrollTop += this.node.scrollHeight - height;
  }

  end(node) {
    const turns = Array.from(this.turns.values());
    const last = turns.length ? turns[turns.length - 1].node : this.empty;
    this.behind(last).after(node);
  }

  /** The last of a node and of what failed behind it, which was asked before what comes now. */
  behind(node) {
    let last = node;
    while (last.nextElementSibling && last.nextElementSibling.matches(".cm-aside")) last = last.nextElementSibling;
    return last;
  }

  remove(n) {
    const entry = this.turns.get(n);
    if (entry) entry.node.remove();
    this.turns.delete(n);
  }

  /** Something else is particular about a turn, or another cell owns it. */
  note(n, by, notes) {
    const entry = this.turns.get(n);
    if (entry) this.add({ ...entry.turn, by, notes, mine: by === "the panel" });
  }

  drawTurn(turn) {
    const node = make("article", "cm-turn", "", { "aria-label": `Asked in ${turn.by}` });
    const tools = make("div", "cm-tools");
    tools.append(button("copy", "Copy the reply", () => this.acts.copy(turn.text, "The reply")));
    if (turn.mine) {
      tools.append(
        button("retry", "Ask again", () => this.acts.again(turn.n, turn.prompt)),
        button("edit", "Edit the prompt", () => this.acts.edit(turn.n, turn.prompt)),
        button("cell", "Put into the notebook", () => this.acts.put([turn.n])),
      );
    }
    const foot = make("div", "cm-foot");
    const took = turn.took === null ? "" : `took about ${turn.took.toLocaleString()}`;
    foot.append(make("span", "cm-meta", [turn.tokens, took].filter(Boolean).join(" · ")), tools);
    node.append(
      promptNode(turn.by, turn.asked),
      make("div", "cm-notes", turn.notes.join(" · ")),
      this.drawReply(turn),
      foot,
    );
    return node;
  }

  drawReply(reply) {
    const node = replyNode(reply.html);
    for (const code of node.querySelectorAll(".highlight")) this.addTools(code);
    for (const state of reply.states) node.append(make("p", "cm-state", state));
    return node;
  }

  /** Give a block of code its buttons, beside the box that scrolls. */
  addTools(code) {
    const box = code.closest(".chatmagic-scroll") || code;
    const text = code.textContent;
    const frame = make("div", "cm-code");
    const tools = make("div", "cm-tools cm-code-tools");
    tools.append(
      button("copy", "Copy this code", () => this.acts.copy(text, "The code")),
      button("cell", "Put this code into a new cell", () => this.acts.cell(text)),
    );
    box.replaceWith(frame);
    frame.append(box, tools);
  }

  /** Draw what failed, or was not kept, each behind its turn. */
  showAsides(asides) {
    for (const old of this.node.querySelectorAll(".cm-aside")) old.remove();
    this.asides = asides;
    for (const aside of asides) {
      const node = make("article", "cm-turn cm-aside", "", { "aria-label": aside.failed ? "Failed" : "Not kept" });
      if (aside.failed) node.classList.add("cm-failed");
      if (aside.prompt) node.append(promptNode(aside.by, aside.asked));
      if (aside.reply) node.append(this.drawReply(aside.reply));
      const what = make("div", "cm-what");
      what.append(make("strong", "", aside.what));
      if (aside.hint) what.append(make("div", "", aside.hint));
      node.append(what);
      if (aside.reply) typeset(this.model, node);
      const entry = this.turns.get(aside.after);
      const place = entry ? entry.node : aside.after ? null : this.empty;
      if (place) this.behind(place).after(node);
      else this.end(node);
    }
  }

  /** Draw an ask under way, or what is new about it. */
  showLive(live) {
    let entry = this.live.get(live.key);
    if (!entry) {
      const node = make("article", "cm-turn cm-live", "", { "aria-label": `Being asked in ${live.by}` });
      node.append(promptNode(live.by, live.asked), make("div", "cm-notes"), replyNode(""), make("div", "cm-waiting"));
      entry = { live, node };
      this.live.set(live.key, entry);
      const before = this.turns.get(live.after);
      if (before) before.node.after(node);
      else this.inner.append(node);
    }
    entry.live = live;
    // Whether its first text is here.
    entry.begun = Boolean(entry.begun || live.html);
    entry.node.querySelector(".cm-notes").textContent = live.stage === "began" ? live.note : "";
    const waiting = entry.node.querySelector(".cm-waiting");
    waiting.textContent =
      live.stage === "began" ? "Waiting for the reply" : live.note.replace(/\.$/, "") || "Sending";
    for (const n of live.instead) {
      const old = this.turns.get(n);
      if (old) old.node.classList.add("cm-replaced");
    }
    if (live.html) this.showText(live.key, live.html);
    else this.follow(live.mine);
  }

  showText(key, html) {
    const entry = this.live.get(key);
    if (!entry) return;
    entry.node.querySelector(".cm-reply").innerHTML = html;
    entry.node.querySelector(".cm-waiting").hidden = true;
    this.follow(false);
  }

  /** Say below what streamed that it has no end, as long as the kernel is gone. */
  lose(gone) {
    for (const { node } of this.live.values()) {
      const said = node.querySelector(".cm-lost");
      if (!gone) said?.remove();
      else if (!said) node.append(make("p", "cm-state cm-lost", "The kernel ended before this reply did: it was not kept."));
    }
  }

  endLive(key) {
    const entry = this.live.get(key);
    if (!entry) return;
    entry.node.remove();
    this.live.delete(key);
    for (const n of entry.live.instead) {
      const old = this.turns.get(n);
      if (old) old.node.classList.remove("cm-replaced");
    }
  }
}
