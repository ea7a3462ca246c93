// The page's end of the bridge.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Model, isListed, pass, samples, viewsOf } from "./browser.js";
import { KnownOutputs } from "../../chatmagic/jupyter/labextensions/chatmagic/page/outputs.js";
import { cellsRunHere } from "../../chatmagic/jupyter/labextensions/chatmagic/page/notebook.js";
import { Bridge } from "../../chatmagic/jupyter/labextensions/chatmagic/page/bridge.js";

const [STATE, MARKS, SAY, TELL] = samples("to the bridge");
const region = () => document.getElementById("chatmagic-status");

function open(model = new Model(), state = STATE) {
  model.urged = [];
  const link = { send: (content) => model.send(content), urge: (content) => model.urged.push(content) };
  const bridge = new Bridge(link, viewsOf(model), state);
  model.receive = (content) => bridge.receive(content);
  return { model, bridge, stop: () => bridge.stop() };
}

test("it tells the cells when it opens and when it is asked to", () => {
  const { model, stop } = open();
  const [opened] = model.take();
  assert.ok(isListed("of the bridge", opened));
  assert.deepEqual(opened.cells, [["a", true, null], ["b", true, null]]);
  assert.deepEqual([opened.opened, opened.name], [true, "lesson.ipynb"]);
  model.receive(TELL);
  const [again] = model.take();
  assert.deepEqual([again.opened, again.page], [false, opened.page]);
  stop();
});

test("a cell's record is found also where the cell shows something else behind it", () => {
  const model = new Model();
  const list = [{ metadata: { chatmagic: { owner: "1f2e" } } }, {}];
  model.cells[0].outputs = { length: list.length, get: (at) => list[at] };
  const { stop } = open(model);
  assert.deepEqual(model.take()[0].cells, [["a", true, "1f2e"], ["b", true, null]]);
  stop();
});

test("an edited Markdown cell is told once nobody types any more", () => {
  const model = new Model();
  const [, cell] = model.cells;
  const heard = new Set();
  cell.type = "markdown";
  cell.sharedModel.getSource = () => "# Title";
  cell.contentChanged = { connect: (edited) => heard.add(edited), disconnect: (edited) => heard.delete(edited) };
  const { stop } = open(model);
  assert.deepEqual(model.take()[0].markdown, []);
  for (const edited of [...heard, ...heard]) edited();
  pass(500);
  assert.deepEqual(model.take().map(({ markdown }) => markdown), [[["b", "# Title"]]]);
  model.receive(TELL);
  assert.deepEqual(model.take()[0].markdown, []);
  stop();
  assert.equal(heard.size, 0);
});

test("it speaks through one region", () => {
  const { model, stop } = open();
  model.receive(SAY);
  assert.equal(region().textContent, SAY.text);
  model.receive(MARKS);
  stop();
});

test("of several notebooks with one kernel one speaks; not one that has missed the kernel's restart", () => {
  const opened = ["old", "new", "new"].map((commId) => {
    const model = new Model();
    model.widget_manager.context.sessionContext = { session: { id: commId, kernel: { id: "k", status: "idle" } } };
    return new Bridge({ comm: { commId }, send() {} }, viewsOf(model), STATE);
  });
  const said = opened.map((bridge) => {
    region().textContent = "";
    bridge.receive(SAY);
    return region().textContent;
  });
  assert.deepEqual(said, [SAY.text, SAY.text, ""]);
  for (const bridge of opened) bridge.stop();
});

test("prompts are shown as prose, and as they were when it stops", () => {
  const model = new Model();
  const [cell] = model.cells;
  cell.sharedModel.getSource = () => "%%chat\nWhy?";
  const { stop } = open(model);
  assert.equal(cell.mimeType, "text/x-ipythongfm");
  assert.equal(model.cells[1].mimeType, "text/x-ipython");
  stop();
  assert.equal(cell.mimeType, "text/x-ipython");
});

test("cells that leave the notebook are heard no more", () => {
  const model = new Model(["prompt", "text"]);
  const heard = new Set();
  const signal = { connect: (listener) => heard.add(listener), disconnect: (listener) => heard.delete(listener) };
  for (const cell of model.cells) Object.assign(cell, { contentChanged: signal, mimeTypeChanged: signal });
  model.cells[1].type = "markdown";
  model.cells[0].sharedModel.getSource = () => "%%chat\nWhy?";
  const { bridge, stop } = open(model);
  assert.equal(heard.size, 2);
  model.cells.splice(0);
  bridge.watch();
  assert.equal(heard.size, 0);
  stop();
});

test("cells with a record are tagged where that is set, and no others", () => {
  const model = new Model(["reply", "own", "refused", "tagged"]);
  const outputs = (metadata) => ({ length: 1, get: () => ({ metadata }) });
  const [reply, own, refused, tagged] = model.cells;
  for (const cell of [reply, refused, tagged]) cell.outputs = outputs({ chatmagic: {} });
  own.outputs = outputs({});
  reply.cell.metadata = { tags: ["mine"] };
  refused.cell.metadata = { keep_output: false };
  tagged.cell.metadata = { tags: ["keep_output"] };
  const { stop } = open(model);
  assert.deepEqual(reply.cell.metadata.tags, ["mine"]);
  model.receive({ ...STATE, keep_output: true });
  const tags = model.cells.map((cell) => cell.cell.metadata?.tags);
  assert.deepEqual(tags, [["mine", "keep_output"], undefined, undefined, ["keep_output"]]);
  stop();
});

test("a notebook has one bridge", () => {
  const { model, bridge } = open();
  const second = open(model);
  assert.ok(bridge.stopped);
  model.take();
  bridge.receive(TELL);
  assert.deepEqual(model.take(), []);
  second.stop();
});

test("a reply under way is painted", (t) => {
  const [paint] = samples("to the bridge").filter(({ kind }) => kind === "paint");
  const box = document.createElement("div");
  const { querySelectorAll } = document;
  document.querySelectorAll = (selector) => (selector === `.chatmagic-live-${paint.live}` ? [box] : []);
  t.after(() => Object.assign(document, { querySelectorAll }));
  const { model, bridge, stop } = open();
  model.receive({ ...paint, serial: 0, keep: 0, blocks: ["<p>A</p>\n", "<p>B</p>\n"], last: false });
  assert.equal(box.textContent, "AB");
  model.receive({ ...paint, serial: 1 });
  assert.equal(box.textContent, "AAnd more.");
  assert.equal(bridge.replies.askOf("a"), paint.live);
  assert.equal(bridge.replies.askOf("b"), undefined);
  stop();
});

test("a prompt in sight keeps its place while its reply grows; elsewhere the browser scrolls", (t) => {
  const [paint] = samples("to the bridge").filter(({ kind }) => kind === "paint");
  let top = 20;
  const scroller = { style: {}, getBoundingClientRect: () => ({ top: 10, bottom: 500 }) };
  const cell = { closest: () => scroller, getBoundingClientRect: () => ({ top }) };
  const box = Object.assign(document.createElement("div"), { closest: () => cell });
  const { querySelectorAll } = document;
  document.querySelectorAll = (selector) => (selector === `.chatmagic-live-${paint.live}` ? [box] : []);
  t.after(() => Object.assign(document, { querySelectorAll }));
  const { model, stop } = open(new Model(), { ...STATE, asks: {} });
  const painted = (serial, last = false) => {
    model.receive({ ...paint, serial, keep: 0, blocks: ["<p>A</p>"], last });
    return scroller.style.overflowAnchor;
  };
  assert.equal(painted(0), "none");
  top = -300;
  assert.equal(painted(1), "");
  top = 20;
  assert.equal(painted(2), "none");
  assert.equal(painted(3, true), "none"); // the front end has yet to draw the last state
  pass(5000);
  assert.equal(scroller.style.overflowAnchor, "");
  painted(4);
  stop();
  assert.equal(scroller.style.overflowAnchor, "");
});

test("an output that shows a reply as under way is settled when nothing more comes of it", () => {
  const model = new Model();
  const shown = (live, more = "") => `<div class="chatmagic"><div class="chatmagic-reply chatmagic-live chatmagic-live-${live}${more}" dir="auto">`;
  const settled = samples("to the bridge").find(({ kind }) => kind === "settled");
  const long = "-".repeat(50_000) + shown("abcdefabcdef"); // whoever's: it is not searched to its end
  const htmls = [shown(settled.live), shown("ba9876543210", " chatmagic-at-4"), shown(settled.live).replaceAll("<", "&lt;"), long];
  const list = htmls.map((html) => ({ output_type: "display_data", data: { "text/html": html } }));
  const get = (at) => ({ toJSON: () => list[at] });
  model.cells[0].outputs = { length: list.length, get, set: (at, output) => { list[at] = output; } };
  const { stop } = open(model, { ...STATE, asks: {} });
  const asked = () => model.take().filter(({ kind }) => kind === "lacks");
  model.receive({ kind: "paint", live: "ba9876543210", serial: 0, keep: 0, blocks: [] });
  pass(5000);
  const [lacks, ...others] = asked();
  assert.deepEqual([lacks.live, others], [settled.live, []]);
  assert.ok(isListed("of the bridge", lacks));
  model.receive(settled);
  assert.deepEqual(list[0], { output_type: "display_data", data: settled.data, metadata: settled.metadata });
  assert.deepEqual(list.slice(1).map(({ data }) => data["text/html"]), htmls.slice(1));
  model.receive({ kind: "paint", live: "ba9876543210", serial: 1, keep: 0, blocks: [], last: true });
  pass(5000);
  assert.deepEqual(asked().map(({ live }) => live), ["ba9876543210"]);
  stop();
  pass(5000);
});

test("of a kernel that has ended, what came of its replies is left as partial", () => {
  const model = new Model();
  const [live, waiting] = ["ba9876543210", "ab0123456789"];
  const box = (name, more) => `<div class="chatmagic-reply mathjax_ignore chatmagic-live chatmagic-live-${name}${more}" dir="auto">`;
  const frame = '<div class="chatmagic"><p>A note.</p>';
  const note = '<p class="chatmagic-partial"><em>Not complete yet.</em></p>';
  const htmls = [
    `${frame}${box(live, " chatmagic-at-0")}\n<p>On</p>\n</div>${note}</div>`,
    `${box(waiting, "")}\n<p class="chatmagic-waiting" style="">… Waiting.</p></div>`,
    "<p>Another.</p>",
    `${box("badbadbadbad", "")}\n<p>Forged.</p></div>`,
  ];
  const forged = { "image/png": "iVBO", "application/json": {} };
  const list = htmls.map((html) => ({ output_type: "display_data", data: { ...forged, "text/html": html } }));
  const get = (at) => ({ toJSON: () => list[at] });
  model.cells[0].outputs = { length: list.length, get, set: (at, output) => { list[at] = output; } };
  const kernel = { status: "busy" };
  let changed;
  const statusChanged = { connect: (listener) => { changed = listener; }, disconnect() { changed = undefined; } };
  model.widget_manager.context.sessionContext = { session: { id: "s", kernel }, statusChanged };
  open(model, { ...STATE, asks: { [live]: "", [waiting]: "" } });
  model.receive({ kind: "paint", live, serial: 0, keep: 0, blocks: ["<p>One.</p>\n", "<p>T</p>\n"] });
  model.receive({ kind: "paint", live, serial: 1, keep: 1, blocks: ["<p>Two</p>\n"] });
  changed();
  assert.deepEqual(list.map(({ data }) => data["text/html"]), htmls);
  kernel.status = "starting"; // restarted by another client
  changed();
  const left = list.map(({ data }) => data["text/html"].split('<p class="chatmagic-partial"><em>Not complete: '));
  const named = (name) => `<div class="chatmagic-reply mathjax_ignore chatmagic-live-${name}" dir="auto">`;
  assert.deepEqual(left.map(([html]) => html), [
    `${frame}${named(live)}\n<p>One.</p>\n<p>Two</p>\n</div>`, `${named(waiting)}\n</div>`, ...htmls.slice(2),
  ]);
  assert.deepEqual(left.map(({ length }) => length), [2, 2, 1, 1]);
  assert.deepEqual(list[3], { output_type: "display_data", data: { ...forged, "text/html": htmls[3] } });
  assert.equal(changed, undefined);
  const marked = structuredClone(list);
  open(model);
  changed();
  assert.deepEqual(list, marked);
  // The page had only lost it: the kernel has the reply.
  const settled = samples("to the bridge").find(({ kind }) => kind === "settled");
  open(model);
  model.receive({ ...settled, live });
  assert.deepEqual(list[0].data, settled.data);
});

test("a question that waited when its kernel ended says so, and no longer that it waits", () => {
  const model = new Model();
  const live = "ba9876543210";
  const html = `<div class="chatmagic-reply mathjax_ignore chatmagic-live chatmagic-live-${live}" dir="auto">` +
    '<p class="chatmagic-waiting chatmagic-queued" style="">… Waiting for the reply to cell [1] to end.</p></div>';
  model.cells[0].outputs = outputs({ output_type: "display_data", data: { "text/html": html } });
  const { list } = model.cells[0].outputs;
  model.urged = [];
  const { bridge } = open(model, { ...STATE, asks: { [live]: "" } });
  model.gone = true; // a message that cannot be sent is a sign of the end, too
  bridge.report.send();
  const [box, note] = list[0].data["text/html"].split('<p class="chatmagic-partial">');
  assert.match(box, /^<div class="[^"]* chatmagic-live-ba9876543210" dir="auto"><\/div>$/);
  assert.match(note, /while this question waited/);
});

test("a page in the background, which draws no frame, asks for the last state all the same", (t) => {
  const { requestAnimationFrame } = globalThis;
  t.after(() => Object.assign(globalThis, { requestAnimationFrame }));
  globalThis.requestAnimationFrame = () => 1;
  const model = new Model();
  const live = "ba9876543210";
  const html = `<div class="chatmagic-reply chatmagic-live chatmagic-live-${live}" dir="auto">`;
  model.cells[0].outputs = { length: 1, get: () => ({ toJSON: () => ({ data: { "text/html": html } }) }) };
  const { stop } = open(model);
  model.receive({ kind: "paint", live, serial: 0, keep: 0, blocks: [], last: true });
  pass(5000);
  assert.ok(model.take().some((message) => message.kind === "lacks" && message.live === live));
  stop();
});

/** A cell's outputs as the front end has them. */
function outputs(...list) {
  return {
    list, get length() { return list.length; }, get: (at) => ({ metadata: list[at].metadata, toJSON: () => list[at] }),
    set: (at, output) => { list[at] = output; }, add: (output) => list.push(output),
    fromJSON: (all) => list.splice(0, Infinity, ...all),
  };
}
const WHOLE = samples("to the bridge").find(({ box }) => box);
const BOX = WHOLE.box.replaceAll("'", '"').replace("chatmagic-reply ", "chatmagic-reply mathjax_ignore ");
const SETTLED = samples("to the bridge").find(({ kind }) => kind === "settled");
const RECORD = { metadata: { chatmagic: { owner: "1f2e" } }, data: {} };
const PRINTED = { output_type: "stream", text: "printed" };

test("a cell whose page was loaded again gets a box for its reply, in the place of an old one", () => {
  const model = new Model();
  model.cells[0].outputs = outputs(PRINTED, RECORD);
  const { list } = model.cells[0].outputs;
  const { stop } = open(model);
  // In a cell that this page runs again, the old reply has gone for good.
  model.cells[0].executionState = "scheduled";
  for (const old of [{ ...WHOLE, box: BOX }, SETTLED]) model.receive(old);
  assert.deepEqual(list, [PRINTED, RECORD]);
  model.cells[0].executionState = "idle";
  for (let told = 0; told < 2; told++) model.receive({ ...WHOLE, box: BOX, serial: 3 + told });
  assert.equal(list.length, 2);
  assert.equal(list[0], PRINTED);
  assert.match(list[1].data["text/html"], /chatmagic-live-0123456789ab">\n<p>And more.<\/p>\n<\/div><\/div>$/);
  model.receive(SETTLED);
  assert.deepEqual(list.slice(1).map(({ data }) => data), [SETTLED.data]);
  stop();
});

test("a cell that this page has run gets no box: its reply was shown elsewhere, or removed", () => {
  const model = new Model();
  model.cells[0].outputs = outputs(PRINTED);
  const { list } = model.cells[0].outputs;
  const { stop } = open(model);
  cellsRunHere(model.widget_manager.context.model).add(model.cells[0].id);
  for (const message of [{ ...WHOLE, box: BOX }, SETTLED]) model.receive(message);
  assert.deepEqual(list, [PRINTED]);
  // What shows the reply as under way is settled all the same.
  list.push({ output_type: "display_data", data: { "text/html": BOX } });
  model.receive(SETTLED);
  assert.deepEqual(list[1].data, SETTLED.data);
  stop();
});

test("a reply that ended meanwhile is put into its cell once; what does not replace stands behind", () => {
  const model = new Model();
  model.cells[0].outputs = outputs(RECORD);
  const { list } = model.cells[0].outputs;
  const { stop } = open(model);
  const settled = { ...SETTLED, replaces: false, metadata: { chatmagic: { owner: "1f2e", reply: "0" } } };
  model.receive(settled);
  model.receive(settled);
  assert.deepEqual(list.map(({ metadata }) => metadata), [RECORD.metadata, settled.metadata]);
  // Why there is no reply is for a page that waits for it.
  model.receive({ ...SETTLED, live: "ba9876543210", metadata: {} });
  model.receive({ ...SETTLED, cell: "gone" });
  assert.equal(list.length, 2);
  stop();
});

test("before a save what was painted is written into the notebook, and taken for what it is", () => {
  const model = new Model();
  model.cells[0].outputs = outputs({ data: { "text/html": BOX } });
  const { list } = model.cells[0].outputs;
  const { context } = model.widget_manager;
  let saving;
  context.saveState = { connect: (listener) => { saving = listener; }, disconnect() { saving = undefined; } };
  const { stop } = open(model);
  saving(context, "started");
  assert.equal(list[0].data["text/html"], BOX);
  model.receive({ ...WHOLE, serial: 0 });
  for (const state of ["started", "completed", "started"]) saving(context, state);
  const [, blocks] = list[0].data["text/html"].split("chatmagic-live-0123456789ab\">\n");
  assert.equal(blocks.split("Not complete yet.").length, 2);
  assert.match(blocks, /^<p>And more.<\/p>\n<\/div><p class="chatmagic-partial">/);
  // The front end may have drawn what is newer than what was painted.
  const newer = BOX.replace("chatmagic-live-0123456789ab", "chatmagic-live-0123456789ab chatmagic-at-9").replace("\n</div>", "\n<p>Newer.</p></div>");
  list[0] = { data: { "text/html": newer } };
  saving(context, "started");
  assert.equal(list[0].data["text/html"], newer);
  model.receive(SETTLED);
  assert.deepEqual(list[0].data, SETTLED.data);
  stop();
  assert.equal(saving, undefined);
});

test("an output is known by what the kernel says of its HTML, and by no class", async () => {
  const { createHash } = await import("node:crypto");
  const html = '<div class="chatmagic-reply">Ünïcode</div>'.repeat(9);
  const known = new KnownOutputs();
  known.add([createHash("sha256").update(html).digest("hex")]);
  const output = (data, metadata) => ({ toJSON: () => ({ data, metadata }) });
  const record = { chatmagic: { owner: "1f2e" } };
  assert.ok(known.has(output({ "text/html": html }, record)));
  assert.ok(!known.has(output({ "text/html": `${html} ` }, record)));
  assert.ok(!known.has(output({ "text/html": html }, {})));
  assert.ok(!known.has(output({}, record)) && !known.has(undefined));
});
