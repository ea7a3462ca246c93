// Types of the messages between the kernel and a page; chatmagic/jupyter/page/messages.py describes
// their ways. The kernel's tests check each of its messages against these types, and the tests of both
// sides read the same examples.
//
// In the messages of the bridge, `live` is the name of an ask. If a message names a cell without its
// notebook, the cell's id follows the notebook's identity and a space, if the page's execute requests
// have that identity.

/**
 * @typedef {{words: string, level: "unknown"|"ok"|"low"|"empty", limit: ?number,
 *   left: ?number, took: ?number, resets: ?string, seen: ?string, now: string,
 *   requests: string, until: ?string}} Credits figures and times (ISO 8601) of the gauge;
 *   null is unknown
 * @typedef {{html: string, text: string, states: string[], tokens: string}} Reply safe HTML, its
 *   text to copy, and its state in words
 * @typedef {{what: string, hint: string, failed: boolean}} Problem why an ask is not in the
 *   conversation, or in part; it failed unless that was chosen
 * @typedef {{id: number, version: string, by: string, mine: boolean, prompt: string,
 *   prompt_html: string, notes: string[], took: ?number, reply: ?Reply, problem: ?Problem,
 *   replies: number[]}} Entry a turn of the conversation, whose id is its number, with the numbers
 *   of its replies where it has several; or, with a problem and an id below 0, an ask that is not in
 *   it. Its prompt is there as text and as safe HTML
 * @typedef {{live: string, by: string, mine: boolean, prompt: string, prompt_html: string,
 *   stage: "asked"|"sending"|"waiting"|"began", note: string, after: ?number,
 *   replaces: number[], html: string}} Pending an ask under way, the turn behind which it stands,
 *   and those that it replaces; with its first words their HTML, in a box that paints are of
 * @typedef {{live: string, words: string, fine: boolean, prompt: ?string}} Ended how an ask
 *   ended, and the prompt of the panel that was not answered
 * @typedef {{state: string, rows: [string, string][], model: string, models: string[]}} Standing the
 *   state of the kernel in a word, the current settings, the current model (empty if none is named),
 *   and the names of known models
 * @typedef {{kind: "snapshot", view?: string, entries: [number, string][], earlier: number,
 *   new: Entry[], pending: Pending[], credits: Credits, standing: Standing, undo: boolean,
 *   redo: boolean, count: number, threads: string[], thread: string, model: string,
 *   ended?: ?Ended, reloaded?: boolean}} Snapshot ids and versions of the newest entries in order, and
 *   how many turns stand before them; the entries are those of one thread. The model is the one that
 *   was chosen for the panel's questions; empty for the current model
 * @typedef {{kind: "entries", view: string, entries: Entry[]}} Entries those that a view wanted
 * @typedef {{kind: "pending"} & Pending} PendingMessage
 * @typedef {{kind: "offer", view: string, live: string, nonce: string}} Offer the kernel is ready to
 *   ask; the page says go or stop
 * @typedef {{kind: "stopping", view: string}} Stopping the kernel has heard stop
 * @typedef {{kind: "notice", view: string, words: string, nonce?: string}} Notice why the prompt
 *   of a nonce was not sent; without one, what was done
 * @typedef {{turn: number, cell: object, after?: string, before?: string}} NewCell the cell of
 *   a turn, and the id of the cell beside which it goes
 * @typedef {{kind: "insert", view: string, cells: NewCell[]}} Insert cells to put into the
 *   notebook; the page says placed for each
 * @typedef {{kind: "saved", view: string, data: Record<string, string>}} Saved content of the
 *   output beside the widget: only the page reaches it after a reload
 * @typedef {{kind: "pong"}} Pong
 */

/**
 * @typedef {{kind: "sync", count?: number, first?: boolean}} Sync asks for a snapshot, with at
 *   least so many turns
 * @typedef {{kind: "want", ids: number[]}} Want
 * @typedef {{kind: "ask", nonce: string, text: ?string, replaces: ?number}} Ask
 * @typedef {{kind: "go"|"stop", live: string}} Go
 * @typedef {{kind: "step", step: "undo"|"redo"|"clear"}} Step
 * @typedef {{kind: "thread", thread: string}} Thread to show in all panels
 * @typedef {{kind: "model", model: string}} ChosenModel for the questions of all panels, as typed; empty
 *   for the current model
 * @typedef {{kind: "pick", turn: number, reply: number}} Pick
 * @typedef {{kind: "put", turns: ?number[], cells: string[]}} Put
 * @typedef {{kind: "placed", turn: number, cell: string}} Placed
 * @typedef {{kind: "ping"|"save"}} Ping
 * @typedef {Sync|Want|Ask|Go|Step|Thread|ChosenModel|Pick|Put|Placed|Ping} FromPage
 */

/**
 * @typedef {{notebook: string, page?: string, above?: [string, any][]}} RequestMetadata in the metadata of a
 *   request to run a cell: its notebook, and its page by the name in its reports; of one that may ask
 *   the ids of the cells above, and sources of Markdown
 */

/**
 * @typedef {{kind: "state", version: string, asks: Record<string, string>,
 *   keep_output: boolean}} KernelState asks: by the name of each ask under way, or waiting for another
 *   one, the cell that has ended while its reply comes; keep_output: whether to tag cells for nbstripout
 * @typedef {{kind: "known", digests: string[]}} Known SHA-256 of the HTML of outputs that are the
 *   kernel's own
 * @typedef {{words: string, cells: string[]}} StaleBelow the stale cells below, by their ids,
 *   in order
 * @typedef {{kind: "marks", notebook: string, marks: Record<string, string>,
 *   below: Record<string, StaleBelow>}} Marks words by the cell's id, and the turns that it made stale
 * @typedef {{kind: "say", text: string}} Say words for the status region
 * @typedef {{kind: "tell"}} Tell to report the cells again
 * @typedef {{id: string, cell_type: "code"|"markdown", source: string}} CodeCell
 * @typedef {{kind: "code", page: string, key: number, cell: string, digest: string,
 *   cells: CodeCell[]}} Code cells to put
 *   below a cell, and the digest of all of them; the answer has the key
 * @typedef {{kind: "run", page: string, key: number, cell: string, cells: string[]}} Run stale
 *   cells to run in order for a cell, which is running
 * @typedef {{kind: "paint", live: string, serial: number, keep: number, blocks: string[],
 *   last?: boolean, cell?: string, box?: string, replaces?: boolean}} Paint of the blocks of a
 *   reply under way after paint serial - 1 the first `keep` stay, all others go, and `blocks`,
 *   which are safe HTML of one element each, follow. Its box has the class `chatmagic-live-` with
 *   the ask's name, and one child for each block; a box that came with the whole reply has the class
 *   `chatmagic-at-` with the serial of the last paint that it holds. After the last paint nothing
 *   more of the ask is painted. Every few seconds a paint is of the whole reply, for a page that was
 *   loaded meanwhile. If a cell shows the reply, that paint has the cell: without a box of the reply
 *   the cell gets the empty `box`, in place of the replies that it showed before if this one replaces
 *   them
 * @typedef {{kind: "settled", live: string, cell: string, replaces: boolean,
 *   data: Record<string, any>, metadata: Record<string, any>}} Settled the last state of a reply,
 *   as a notebook keeps it, for the output that still shows it as under way; if there is none, and
 *   the metadata hold a record that no output of the cell has, for the cell, in place of the replies
 *   that it showed before if this one replaces them
 * @typedef {KernelState|Known|Marks|Say|Tell|Code|Run|Paint|Settled} ToBridge
 * @typedef {{kind: "coded", key: number, outcome: "made"|"same"|"queued"|"refused",
 *   made: number, removed: number, left: number}} Coded
 * @typedef {{kind: "started", key: number, outcome: "started"|"queued"|"refused",
 *   count: number}} Started
 * @typedef {{kind: "hello", protocol: number, version: string}} Hello
 * @typedef {{kind: "paints"}|{kind: "stop", live: string}} Urgent
 * @typedef {{kind: "lacks", live: string}} Lacks the last state of this reply
 * @typedef {Snapshot|Entries|PendingMessage|Paint|Offer|Stopping|Notice|Insert|Saved|
 *   Pong} FromKernel
 */

export {};
