// The composer: the typed prompt, its draft, the earlier prompts, an edit, and its keys.

import { button, enable, make } from "./dom.js";
import { keepLostDraft, takeLostDraft } from "./notebook.js";

/**
 * Whether a key is a shortcut for the front end. Keys that type, edit, move or run a cell are not.
 * @param {KeyboardEvent} event
 */
export function isForFrontEnd(event) {
  if (/^F\d+$/.test(event.key)) return true;
  if (event.key.length > 1 || event.getModifierState("AltGraph")) return false;
  const edits = event.shiftKey ? "vz" : "acvxyz";
  if (event.ctrlKey || event.metaKey) return !edits.includes(event.key.toLowerCase());
  // On a Mac, Option types.
  return event.altKey && !navigator.platform.startsWith("Mac");
}

/** Milliseconds without a key until the typed text is sent to the kernel. */
const DRAFT_MS = 400;
const KEYS = "Enter sends · Shift+Enter new line · Esc stops";
const EDITING =
  "Editing a past prompt: the new reply replaces the old one. Escape leaves it.";

/** The typed text that was not sent. The next view finds it, even if the kernel is gone. */
class Draft {
  /**
   * @param {import("./notebook.js").Model} model
   * @param {import("./panel_asks.js").KernelConnection} connection
   */
  constructor(model, connection) {
    this.model = model;
    this.connection = connection;
    this.timer = 0;
    const lost = takeLostDraft(model);
    this.first = String(model.get("draft") || lost);
  }

  /** @param {string} text */
  keep(text) {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.connection.lost) return keepLostDraft(this.model, text);
    this.connection.attempt(() => {
      // A new view finds the text here at once. The kernel, for the next panel, gets it rarely.
      this.model.set("draft", text);
      this.timer = window.setTimeout(() => this.flush(), DRAFT_MS);
    });
  }

  /** Send the text to the kernel now. */
  flush() {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = 0;
    this.connection.attempt(() => this.model.save_changes());
  }
}

export class Composer {
  /**
   * @param {import("./notebook.js").Model} model
   * @param {import("./panel_asks.js").KernelConnection} connection
   * @param {object} actions
   * @param {() => void} actions.submit
   * @param {() => void} actions.stop
   * @param {() => string[]} actions.prompts returns the earlier prompts, the newest first
   */
  constructor(model, connection, actions) {
    this.actions = actions;
    this.draft = new Draft(model, connection);
    /** @type {?number} index of the earlier prompt that is shown, until it is changed */
    this.recalled = null;
    /** @type {?{turn: number, draft: string}} the edited turn, and the earlier text */
    this.editing = null;
    this.banner = make("div", "cm-banner", EDITING);
    this.banner.hidden = true;
    const hint = { "aria-label": "Prompt", placeholder: "Ask something" };
    this.input = make("textarea", "cm-input", "", { rows: "1", dir: "auto", ...hint });
    this.send = button("send", "Send", actions.submit, "Send");
    this.stop = button("stop", "Stop", actions.stop, "Stop");
    // A growing reply may move the button between press and release, so a press counts as a click.
    this.stop.onpointerdown = (event) => this.stop.setPointerCapture(event.pointerId);
    this.status = make("div", "cm-status", "", { role: "status", "aria-live": "polite" });
    this.node = make("div", "cm-composer", [
      this.banner,
      make("div", "cm-row", [this.input, this.stop, this.send]),
      make("div", "cm-under", [this.status, make("div", "cm-keys", KEYS)]),
    ]);
    this.input.addEventListener("blur", () => this.draft.flush());
    this.input.addEventListener("input", () => this.changed());
    // In another width the text, or the placeholder, has another number of lines.
    let width = 0;
    this.resized = new ResizeObserver(([entry]) => {
      if (entry.contentRect.width !== width) this.grow();
      width = entry.contentRect.width;
    });
    this.resized.observe(this.input);
    this.input.value = this.draft.first;
  }

  get text() {
    return this.input.value;
  }

  /** @param {string} text */
  set text(text) {
    this.input.value = text;
    this.changed();
  }

  changed() {
    this.recalled = null;
    this.grow();
    this.draft.keep(this.text);
  }

  grow() {
    this.input.style.height = "auto";
    const height = this.input.scrollHeight;
    if (height) this.input.style.height = `${height + 2}px`;
  }

  focus() {
    this.input.focus({ preventScroll: true });
  }

  /**
   * Report an event in the status region.
   * @param {string} words
   * @param {object} [how]
   * @param {boolean} [how.wrong]
   * @param {boolean} [how.silent] whether to show the words only, as they are read out elsewhere
   */
  announce(words, { wrong = false, silent = false } = {}) {
    this.status.setAttribute("aria-live", silent ? "off" : "polite");
    this.status.textContent = words;
    this.status.className = wrong ? "cm-status cm-wrong" : "cm-status";
  }

  /** Edit the prompt of a turn. @param {number} turn @param {string} prompt */
  edit(turn, prompt) {
    this.editing = { turn, draft: this.editing?.draft ?? this.text };
    this.banner.hidden = false;
    this.announce("");
    this.text = prompt;
    this.input.focus();
  }

  /** End an edit; the text typed before it comes back. @returns {?number} the turn */
  stopEditing() {
    const editing = this.editing;
    this.editing = null;
    this.banner.hidden = true;
    if (editing) this.text = editing.draft;
    return editing && editing.turn;
  }

  /** @param {KeyboardEvent} event in the input */
  key(event) {
    const modified = event.shiftKey || event.ctrlKey || event.altKey || event.metaKey;
    if (event.key === "Enter" && !modified) {
      event.preventDefault();
      this.actions.submit();
    } else if (event.key === "ArrowUp" && (!this.text || this.recalled !== null)) {
      this.recall(event, 1);
    } else if (event.key === "ArrowDown" && this.recalled !== null) {
      this.recall(event, -1);
    }
  }

  /**
   * Show an earlier prompt.
   * @param {KeyboardEvent} event
   * @param {number} step 1 is further back
   */
  recall(event, step) {
    const prompts = this.actions.prompts();
    const at = (this.recalled ?? -1) + step;
    if (at >= prompts.length) return;
    event.preventDefault();
    this.text = prompts[at] ?? "";
    this.recalled = at < 0 ? null : at;
  }

  /**
   * @param {boolean} asking whether Stop can stop an ask
   * @param {boolean} free whether a prompt can be sent
   */
  enable(asking, free) {
    this.stop.hidden = !asking;
    enable(this.send, free);
  }

  close() {
    this.draft.flush();
    this.resized.disconnect();
  }
}
