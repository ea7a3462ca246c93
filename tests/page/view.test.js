// The panel's view, driven by the examples of the kernel's messages.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Model, isListed, pass, samples, timers } from "./browser.js";
import { ChatView } from "../../chatmagic/jupyter/labextensions/chatmagic/page/panel.js";

const MESSAGES = samples("to the panel");
const REFUSED = MESSAGES.find(({ nonce, words }) => nonce && words);
const of = (kind) => structuredClone(MESSAGES.find((message) => message.kind === kind));

let model;
let view;

/** The kernel's answer to this view. */
function receive(message) {
  model.receive(message.view ? { ...message, view: view.connection.view } : message);
}

/** What the view sent; each message is one of the examples' forms. */
function sent() {
  const messages = model.take();
  for (const message of messages) assert.ok(isListed("of the panel", message), JSON.stringify(message));
  return messages;
}

const status = () => view.composer.status.textContent;
const prompts = () => view.node.all("cm-text").map((node) => node.textContent);
const type = (text) => (view.composer.text = text);

beforeEach(() => {
  timers.clear();
  model = new Model();
  const element = document.createElement("div");
  document.body.replaceChildren(element);
  view = new ChatView(model, element);
  assert.deepEqual(sent().map(({ kind }) => kind), ["sync"]);
  receive(of("snapshot"));
  receive(of("entries"));
  assert.deepEqual(sent(), [{ kind: "want", ids: [1, 2, -3] }]);
});

test("every message of the kernel is taken, in any order, without an error", () => {
  for (const message of MESSAGES) receive(structuredClone(message));
  for (const message of MESSAGES.toReversed()) receive(structuredClone(message));
  sent();
});

test("the log shows turns and what failed, in order", () => {
  assert.deepEqual(prompts(), ["Name a colour.", "Another one.", "And one more."]);
  const articles = view.node.all("cm-turn");
  assert.deepEqual(articles.map((node) => node.getAttribute("aria-label")), ["Asked in cell [2]", "Asked in the panel", "Failed"]);
  assert.match(articles[0].textContent, /You, in cell \[2\]/);
  assert.match(articles[1].textContent, /stale.*Interrupted: this reply.*3 tokens sent, 5 received · cost about 1 credit/);
  assert.equal(articles[2].all("cm-what")[0].textContent, "No credits left.Wait for the reset.");
  assert.equal(view.node.all("cm-empty")[0].hidden, true);
  assert.equal(view.node.all("cm-badge")[0].textContent, "live");
});

test("a change moves and redraws nothing else", () => {
  const [first, second, failed] = view.node.all("cm-turn");
  receive(MESSAGES.at(-1));
  const [same, changed, last] = view.node.all("cm-turn");
  assert.equal(same, first);
  assert.notEqual(changed, second);
  assert.equal(last, failed);
  assert.equal(failed.moved, 1);
  assert.deepEqual(prompts(), ["Name a colour.", "Why?", "And one more."]);
});

test("an ask under way stands behind its turn, above what failed there, until it ends", () => {
  receive(of("pending"));
  assert.deepEqual(prompts(), ["Name a colour.", "Another one.", "Why?", "And one more."]);
  assert.ok(view.node.all("cm-turn")[1].classList.has("cm-replaced"));
  assert.ok(view.node.classList.has("cm-busy"));
  receive({ ...of("pending"), html: "<p>Because</p>" });
  assert.equal(view.node.all("cm-live")[0].all("cm-reply")[0].innerHTML, "<p>Because</p>");
  receive(MESSAGES.at(-1));
  assert.deepEqual(view.node.all("cm-live"), []);
  assert.equal(status(), "Complete, 1 word.");
});

test("what is new of a reply under way is painted into the box that came with its beginning", () => {
  receive({ ...of("pending"), html: "<p>Because</p>" });
  const reply = document.createElement("div");
  view.log.node.querySelectorAll = (selector) => (selector.endsWith(of("paint").live) ? [reply] : []);
  receive({ ...of("paint"), serial: 0 });
  assert.deepEqual(reply.children.map((node) => node.textContent), ["Because so.", "And"]);
  receive({ ...of("paint"), keep: 1, last: true });
  assert.deepEqual(reply.children.map((node) => node.textContent), ["Because so.", "Because so.", "And"]);
  assert.equal(view.log.painter.replies.size, 0);
});

test("an ask is sent when the kernel offers, and the prompt goes with it", () => {
  type("Why?\n");
  view.submit();
  const [ask] = sent();
  assert.deepEqual({ ...ask, nonce: "" }, { kind: "ask", nonce: "", text: "Why?", replaces: null });
  assert.equal(status(), "Sending.");
  view.submit();
  assert.deepEqual(sent(), []);
  assert.match(status(), /is under way/);
  receive({ ...of("offer"), nonce: ask.nonce });
  assert.deepEqual(sent(), [{ kind: "go", live: of("offer").live }]);
  assert.equal(view.composer.text, "");
});

test("what was taken back is stopped when it is offered, and typed again", () => {
  type("Why?");
  view.submit();
  const [{ nonce }] = sent();
  view.stop();
  assert.equal(status(), "Withdrawn before it was sent.");
  assert.equal(view.composer.text, "Why?");
  receive({ ...of("offer"), nonce });
  assert.deepEqual(sent(), [{ kind: "stop", live: of("offer").live }]);
  // It was said already.
  view.composer.announce("");
  const ended = { live: of("offer").live, words: "Withdrawn before it was sent.", fine: false, prompt: "Why?" };
  receive({ ...MESSAGES.at(-1), ended });
  assert.equal(status(), "");
});

test("a prompt that is refused is given back with the reason", () => {
  type("Why?");
  view.submit();
  const [{ nonce }] = sent();
  view.composer.text = "";
  receive({ ...REFUSED, nonce: "another" });
  assert.equal(view.composer.text, "");
  receive({ ...REFUSED, nonce });
  assert.equal(view.composer.text, "Why?");
  assert.match(status(), /Nothing was sent/);
});

test("asked again and edited, a prompt replaces its turn", () => {
  view.ask("Another one.", 2, true);
  const [again] = sent();
  assert.deepEqual([again.text, again.replaces], [null, 2]);
  view.asking.forget();
  type("a draft");
  view.composer.edit(2, "Another one.");
  assert.equal(view.composer.text, "Another one.");
  assert.equal(view.composer.banner.hidden, false);
  view.submit();
  const [edited] = sent();
  assert.deepEqual([edited.text, edited.replaces], ["Another one.", 2]);
  assert.equal(view.composer.text, "a draft");
});

test("stop is said once, and the kernel interrupted where a cell does not hear", () => {
  receive({ ...of("pending"), mine: false, by: "cell [3]" });
  let interrupted = 0;
  model.widget_manager.kernel = { interrupt: () => interrupted++ };
  view.stop();
  view.stop();
  assert.deepEqual(sent(), [1, 2].map(() => ({ kind: "stop", live: of("pending").live })));
  assert.equal(status(), "Stopping.");
  pass(700);
  assert.equal(interrupted, 1);
  view.stop();
  receive(of("stopping"));
  pass(700);
  assert.equal(interrupted, 1);
});

test("a kernel that is lost is said, and what is typed is kept for the next panel", () => {
  receive(of("pending"));
  type("half a question");
  model.gone = true;
  view.connection.check();
  assert.match(status(), /lost its kernel/);
  assert.equal(view.node.all("cm-badge")[0].textContent, "no kernel");
  assert.match(view.node.all("cm-live")[0].textContent, /it was not kept/);
  assert.equal(model.widget_manager.context.model[Symbol.for("chatmagic.draft")], "half a question");
  view.submit();
  assert.equal(view.composer.text, "half a question");
  model.gone = false;
  receive({ kind: "pong" });
  assert.equal(status(), "The kernel is back.");
  assert.equal(view.node.all("cm-badge")[0].textContent, "live");
});

test("a kernel that does not answer in time is lost; a late answer finds it", () => {
  view.connection.check();
  receive({ kind: "pong" });
  pass(3000);
  assert.equal(view.connection.lost, false);
  view.connection.check();
  pass(3000);
  assert.equal(view.connection.lost, true);
});

test("what is typed is kept at once, and sent a moment later", () => {
  type("half");
  assert.equal(model.get("draft"), "half");
  assert.equal(model.saved, undefined);
  pass(400);
  assert.deepEqual(model.saved, { draft: "half" });
});

test("prompts of before come back one by one", () => {
  const key = (name) => view.composer.key({ key: name, preventDefault() {} });
  type("");
  key("ArrowUp");
  assert.equal(view.composer.text, "And one more.");
  key("ArrowUp");
  assert.equal(view.composer.text, "Another one.");
  key("ArrowDown");
  key("ArrowDown");
  assert.equal(view.composer.text, "");
});

test("the tools of the conversation say what they do, and only when they can", () => {
  view.header.undo.click();
  view.header.redo.click();
  assert.deepEqual(sent(), [{ kind: "step", step: "undo" }]);
  view.header.putAll.click();
  assert.deepEqual(sent(), [{ kind: "put", turns: null, cells: ["a", "b"] }]);
});

test("a model is chosen in the settings, and shown as the kernel says it", () => {
  const { model: input, models, rows, summary } = view.settings;
  const fire = (kind) => input.listeners[kind].forEach((listener) => listener({}));
  const [, field] = rows.children;
  assert.deepEqual([input.value, input.placeholder, summary.textContent], ["", "small", "Current settings"]);
  assert.deepEqual(models.children.map((node) => node.getAttribute("value")), ["small", "large <b>"]);
  assert.equal(models.getAttribute("id"), input.getAttribute("list"));
  input.value = "'large'";
  fire("input");
  receive({ ...of("snapshot"), view: undefined });
  assert.equal(input.value, "'large'");
  fire("change");
  assert.deepEqual(sent(), [{ kind: "model", model: "'large'" }]);
  receive(MESSAGES.at(-1));
  assert.deepEqual([input.value, input.placeholder, summary.textContent], ["large", "none is named", "Current settings, model large"]);
  assert.deepEqual(rows.children.map((node) => node.textContent), ["Model", ""]);
  input.value = "hal";
  fire("input");
  view.key({ key: "Escape", target: input, preventDefault() {}, stopPropagation() {} });
  assert.equal(input.value, "large");
  assert.equal(document.activeElement, view.composer.input);
  // It may have the focus.
  assert.equal(rows.children[1], field);
  assert.equal(field.moved, 1);
  view.connection.lose();
  assert.equal(input.disabled, true);
});

test("cells of turns are put where the kernel says, and reported", () => {
  receive(of("insert"));
  assert.deepEqual(model.cells.map(({ id }) => id), ["a", "p1", "b"]);
  assert.deepEqual(sent(), [{ kind: "placed", turn: 2, cell: "p1" }]);
  assert.equal(status(), "Put into the notebook as 1 cell.");
  receive({ ...of("insert"), cells: [] });
  assert.match(status(), /No turn of the panel/);
  model.widget_manager.context.model.sharedModel.insertCell = () => {
    throw new Error("read only");
  };
  receive(of("insert"));
  assert.match(status(), /does not let cells be made/);
});

test("after a reload each snapshot is saved", () => {
  receive({ ...of("snapshot"), reloaded: true });
  receive(MESSAGES.at(-1));
  assert.deepEqual(sent(), [{ kind: "save" }, { kind: "save" }]);
});

test("an empty log is not said while its entries are on their way", () => {
  const element = document.createElement("div");
  const other = new ChatView(model, element);
  const say = (message) => model.receive({ ...message, view: other.connection.view });
  const { empty } = other.log;
  say(of("snapshot"));
  assert.equal(empty.hidden, true);
  say({ ...of("snapshot"), entries: [] });
  assert.equal(empty.hidden, false);
  other.close();
});

test("earlier turns are asked for, and the focus stays in the log when there are no more", () => {
  receive({ ...of("snapshot"), earlier: 30 });
  const { earlier } = view.log;
  assert.equal(earlier.textContent, "Show earlier turns (30 more)");
  earlier.focus();
  earlier.click();
  assert.deepEqual(sent(), [{ kind: "sync", count: 32 }]);
  assert.equal(document.activeElement, earlier);
  receive(of("snapshot"));
  assert.equal(earlier.hidden, true);
  assert.equal(document.activeElement, view.log.node);
});

test("the log follows what is asked, and not what could not be asked", () => {
  const { scroll } = view.log;
  scroll.follows = false;
  view.ask("Why?");
  assert.equal(scroll.follows, true);
  scroll.follows = false;
  view.ask("And?");
  assert.equal(scroll.follows, false);
});

test("a view that was not answered yet takes no news", () => {
  const other = new ChatView(model, document.createElement("div"));
  model.take();
  model.receive(of("pending"));
  model.receive(MESSAGES.at(-1));
  assert.deepEqual(model.take(), []);
  assert.equal(other.store.state, null);
  other.close();
});

test("of two views the older one speaks for a cell; the bridge speaks before both", () => {
  const cell = { ...of("pending"), live: "9", mine: false, by: "cell [3]" };
  const silent = () => view.composer.status.getAttribute("aria-live") === "off";
  receive(structuredClone(cell));
  receive({ ...cell, html: "<p>So</p>" });
  assert.deepEqual([status(), silent()], ["Reply to cell [3] started.", false]);
  model.widget_manager.context.model[Symbol.for("chatmagic.bridge")] = { stopped: false };
  receive({ ...cell, live: "10" });
  receive({ ...cell, live: "10", html: "<p>So</p>" });
  assert.deepEqual([status(), silent()], ["Reply to cell [3] started.", true]);
});

test("closed, a view leaves nothing behind", () => {
  view.close();
  assert.deepEqual(Object.keys(model.listeners), []);
  assert.equal(model.widget_manager.context.model[Symbol.for("chatmagic.panels")].size, 0);
});

test("several threads can be chosen from, and one is shown", () => {
  const [choice] = view.node.all("cm-thread");
  assert.equal(choice.hidden, true);
  receive(MESSAGES.findLast(({ kind }) => kind === "snapshot"));
  assert.equal(choice.hidden, false);
  assert.deepEqual(choice.children.map((option) => option.textContent), ["main", "sql"]);
  assert.equal(choice.value, "sql");
  sent();
  choice.value = "main";
  for (const listener of choice.listeners.change) listener({});
  assert.deepEqual(sent(), [{ kind: "thread", thread: "main" }]);
  receive(of("snapshot"));
  assert.equal(choice.hidden, true);
});

test("a turn with several replies can be stepped through", () => {
  const [group] = view.node.all("cm-replies");
  assert.equal(group.textContent, "2 of 2");
  const [earlier, later] = group.all("cm-button");
  assert.deepEqual([earlier, later].map((node) => node.getAttribute("aria-disabled")), ["false", "true"]);
  later.click();
  assert.deepEqual(sent(), []);
  earlier.click();
  assert.deepEqual(sent(), [{ kind: "pick", turn: 2, reply: 0 }]);
});
