// A review: a person labels rows, one key each. The kernel sends the row that is shown; the page sends
// what the person does, with the row's number, so that a key for an earlier row does nothing.

import { announce, make } from "./dom.js";

/**
 * The row that is shown. Without `text` all rows were seen.
 * @typedef {object} Shown
 * @property {number} at the row's number, from 0
 * @property {number} count
 * @property {number} done how many rows have a label
 * @property {string} reviewer
 * @property {[string, string, string][]} labels the key, the label, and what is shown of it
 * @property {string} said
 * @property {string} file
 * @property {[string, string][]} [text] names and texts
 * @property {?string} [label] the person's, from before
 * @property {boolean} [skipped]
 * @property {string} [note]
 * @property {string} [model] the model's label; empty until the person's is given
 */

/** A key that is held down, or that belongs to the browser or to an input method, is no answer. */
const isAnswer = (/** @type {KeyboardEvent} */ event) =>
  !(event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing);

class ReviewView {
  /** @param {any} model @param {HTMLElement} element */
  constructor(model, element) {
    this.model = model;
    this.at = -1;
    this.head = make("p", "cm-progress");
    this.bar = make("progress", "", "", { "aria-label": "Labelled rows", max: "1" });
    this.row = make("div", "cm-row-text", "", { tabindex: "0", role: "group", "aria-label": "Row" });
    this.labels = make("div", "cm-labels", "", { role: "group", "aria-label": "Labels" });
    this.note = make("input", "cm-note", "", { type: "text", "aria-label": "Note", placeholder: "Note" });
    this.said = make("p", "cm-said");
    this.back = this.tool("b", "Back", () => this.send("back"));
    this.skip = this.tool("s", "Skip", () => this.send("skip"));
    this.noting = this.tool("n", "Note", () => this.note.focus());
    const tools = make("div", "cm-steps", [this.back, this.skip, this.noting, this.note], {
      role: "group",
      "aria-label": "Steps",
    });
    this.node = make(
      "section",
      "chatmagic-review mathjax_ignore",
      [make("div", "cm-top", [this.head, this.bar]), this.row, this.labels, tools, this.said],
      { "aria-label": "Review", "data-lm-suppress-shortcuts": "true" },
    );
    this.key = this.key.bind(this);
    // Notebook 7 handles shortcuts before a key reaches the widget, JupyterLab after that.
    window.addEventListener("keydown", this.key, true);
    for (const kind of ["keyup", "keypress", "paste", "copy", "cut"]) {
      this.node.addEventListener(kind, (event) => event.stopPropagation());
    }
    element.append(this.node);
    this.show = this.show.bind(this);
    model.on("change:shown", this.show);
    this.show();
  }

  close() {
    window.removeEventListener("keydown", this.key, true);
    this.model.off("change:shown", this.show);
  }

  /**
   * Return a button whose key is shown beside its name.
   * @param {string} key
   * @param {string} name
   * @param {() => void} act
   */
  tool(key, name, act) {
    const parts = [make("kbd", "", key, { "aria-hidden": "true" }), make("span", "", name, { dir: "auto" })];
    const node = make("button", "cm-choice", parts, { type: "button", "aria-keyshortcuts": key });
    node.addEventListener("click", act);
    return node;
  }

  show() {
    /** @type {Shown} */
    const shown = this.model.get("shown");
    const isOther = shown.at !== this.at;
    const hadFocus = this.node.contains(document.activeElement);
    this.at = shown.at;
    const row = shown.text ? `Row ${shown.at + 1} of ${shown.count}` : "All rows were seen";
    this.head.textContent = `${row}, ${shown.done} labelled by ${shown.reviewer}`;
    this.bar.max = shown.count;
    this.bar.value = shown.done;
    this.showRow(shown);
    const choices = shown.text ? shown.labels : [];
    this.labels.replaceChildren(
      ...choices.map(([key, label, name]) => {
        const node = this.tool(key, name, () => this.send("label", label));
        node.setAttribute("aria-pressed", String(shown.label === label));
        return node;
      }),
    );
    this.back.hidden = shown.at === 0;
    this.skip.hidden = this.noting.hidden = this.note.hidden = !shown.text;
    if (isOther) this.note.value = shown.note ?? "";
    this.said.textContent = shown.said;
    // The pressed button is gone, and the next key is for the next row.
    if (hadFocus && (isOther || !this.node.contains(document.activeElement))) this.row.focus();
    if (hadFocus) announce(`${shown.said} ${row}.`.trim());
  }

  /** @param {Shown} shown */
  showRow(shown) {
    const parts = (shown.text ?? []).flatMap(([name, text]) => {
      return [make("dt", "", name, { dir: "auto" }), make("dd", "", text, { dir: "auto" })];
    });
    /** @type {Node[]} */
    const content = [make("dl", "", parts)];
    if (!shown.text) content[0] = make("p", "", `The labels are in ${shown.file}.`);
    if (shown.skipped) content.push(make("p", "", "You skipped this row."));
    if (shown.label != null) {
      const model = shown.model ? `the model's is ${shown.model}` : "the model has none";
      content.push(make("p", "", `Your label is ${shown.label}, ${model}.`, { dir: "auto" }));
    }
    this.row.replaceChildren(...content);
  }

  /** @param {"label"|"skip"|"note"|"back"} step @param {string} [label] */
  send(step, label) {
    this.model.send({ do: step, at: this.at, label, note: this.note.value });
  }

  /** @param {KeyboardEvent} event anywhere in the page */
  key(event) {
    if (!(event.target instanceof Node) || !this.node.contains(event.target)) return;
    if (event.key === "Tab") return;
    event.stopPropagation();
    if (!isAnswer(event)) return;
    if (event.target === this.note) return this.noteKey(event);
    const labels = /** @type {Shown} */ (this.model.get("shown")).labels;
    const chosen = labels.find(([key]) => key === event.key);
    if (chosen && !this.skip.hidden) this.send("label", chosen[1]);
    else if (event.key === "s" && !this.skip.hidden) this.send("skip");
    else if (event.key === "b" || event.key === "ArrowLeft") this.send("back");
    else if (event.key === "n" && !this.note.hidden) this.note.focus();
    else return;
    event.preventDefault();
  }

  /** Enter keeps the note, with the label that is given next if there is none yet. @param {KeyboardEvent} event */
  noteKey(event) {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    const shown = /** @type {Shown} */ (this.model.get("shown"));
    if (event.key === "Escape") this.note.value = shown.note ?? "";
    else if (shown.label != null || shown.skipped) this.send("note");
    this.row.focus();
  }
}

/** @param {{model: any, el: HTMLElement}} widget */
function render({ model, el }) {
  const view = new ReviewView(model, el);
  return () => view.close();
}

export default { render };
