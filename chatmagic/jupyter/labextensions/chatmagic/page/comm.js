// The connection of a notebook's page with the bridge of its kernel
// (chatmagic/jupyter/page/bridge.py): one comm, which the kernel opens. A page that missed the
// opening, because it was loaded while a cell ran, finds the comm by any of its messages, or
// when the kernel has time to list its comms.

import { Bridge } from "./bridge.js";
import { announce } from "./dom.js";
import { BRIDGE, cellsAbove, cellsRunHere, notebookId } from "./notebook.js";

/** The values of chatmagic/jupyter/page/messages.py and of the package; a test compares them. */
export const PROTOCOL = 3;
export const VERSION = "0.3.0";
const TARGET = "chatmagic.bridge";
const URGENT = "chatmagic.urgent";
/** Code that may ask a question: magics may be typed without their %. */
const ASKS = /\bchat/;
const NAMED = Symbol.for("chatmagic.named");
/** How long, in milliseconds, a subshell may take to start. */
const SUBSHELL_MS = 3000;

export const MISMATCH =
  `This page has chatmagic ${VERSION}, and its kernel another version, with which it cannot talk: ` +
  "install the same version where the server runs and where the kernel runs, and reload the page.";

/** @typedef {import("./notebook.js").Context} Context */
/** @typedef {import("./notebook.js").Comm} Comm */
/** @typedef {import("./notebook.js").Kernel} Kernel */

/** Return whether a comm is that of a bridge. @param {string | undefined} id */
const isBridge = (id) => Boolean(id?.startsWith(`${TARGET}.`));

/** Return whether a notebook handles its kernel's comms, as the first of a kernel does. */
const handlesComms = (/** @type {Kernel} */ kernel) => kernel.handleComms !== false;

/** A comm over a connection that does not handle comms. */
class PlainComm {
  /** @param {Kernel} kernel @param {string} target @param {string} [id] */
  constructor(kernel, target, id = `${target}.${Math.random().toString(36).slice(2)}`) {
    this.kernel = kernel;
    this.target = target;
    this.commId = id;
    /** @type {Promise<void> | undefined} */
    this.subshellStarted = undefined;
    this.isDisposed = false;
  }

  /** @param {object} [data] */
  open(data) {
    this.say("comm_open", { target_name: this.target, data });
  }

  /** @param {object} data */
  send(data) {
    this.say("comm_msg", { data });
  }

  /** @param {string} kind @param {object} content */
  say(kind, content) {
    const { clientId: session, username } = this.kernel;
    const header = {
      msg_id: Math.random().toString(36).slice(2), msg_type: kind, session, username,
      date: new Date().toISOString(), version: "5.2",
    };
    this.kernel.sendShellMessage?.({
      channel: "shell", header, parent_header: {}, metadata: {}, buffers: [],
      content: { comm_id: this.commId, ...content },
    }, false, true);
  }
}

/**
 * Wait until a comm has its subshell, if it gets one; not for long.
 * @param {Comm | PlainComm | undefined} comm
 */
async function subshellOf(comm) {
  if (!comm?.subshellStarted) return;
  const isLate = new Promise((resolve) => setTimeout(resolve, SUBSHELL_MS));
  await Promise.race([comm.subshellStarted, isLate]).catch(() => {}); // it works without one, too
}

/**
 * Add the notebook's identity to its execute requests, as a copy of it has the same cells, and the page's
 * name, as another page may have the cells in another order. To those that may ask, add the cells above:
 * the kernel may not have any other message of the page before.
 * @param {Kernel & Record<symbol, any>} kernel
 * @param {Context} context
 */
function nameNotebook(kernel, context) {
  const { requestExecute } = kernel;
  if (!requestExecute || kernel[NAMED]) return;
  kernel[NAMED] = true;
  kernel.requestExecute = (content, dispose, metadata = {}) => {
    if (metadata.cellId) cellsRunHere(context.model).add(metadata.cellId);
    const above = ASKS.test(content.code) ? cellsAbove(context, metadata.cellId) : undefined;
    const page = context.model[BRIDGE]?.page;
    const facts = {
      ...metadata.chatmagic, notebook: notebookId(context), ...(page && { page }), ...(above && { above }),
    };
    return requestExecute.call(kernel, content, dispose, { ...metadata, chatmagic: facts });
  };
}

/** The connection from one notebook to its kernel, or to the next one after that. */
export class KernelLink {
  /** @param {import("./views.js").NotebookViews} views of the notebook */
  constructor(views) {
    const { context } = views;
    this.views = views;
    this.context = context;
    /** @type {?Kernel} */
    this.kernel = null;
    /** @type {?Comm} */
    this.comm = null;
    /** @type {?Bridge} */
    this.bridge = null;
    this.connect = this.connect.bind(this);
    this.hear = this.hear.bind(this);
    this.close = this.close.bind(this);
    context.sessionContext?.kernelChanged?.connect(this.connect);
    context.disposed?.connect(this.close);
    this.connect();
  }

  /** Listen to the notebook's kernel, if it is another one than before. */
  connect() {
    const kernel = this.context.sessionContext?.session?.kernel ?? null;
    if (kernel === this.kernel) return;
    this.kernel?.iopubMessage?.disconnect(this.hear);
    this.kernel = kernel;
    this.comm = null;
    if (!kernel?.registerCommTarget) return;
    nameNotebook(kernel, this.context);
    if (handlesComms(kernel)) {
      kernel.registerCommTarget(TARGET, (comm, { content }) => this.attach(comm, content.data));
    }
    kernel.iopubMessage?.connect(this.hear);
    kernel.requestCommInfo?.({ target_name: TARGET }).then(({ content }) => {
      if (kernel !== this.kernel) return;
      for (const id of Object.keys(content.comms ?? {})) this.find(id);
    }).catch(() => {}); // the kernel is gone
  }

  /**
   * Take a message of the bridge's comm.
   * @param {unknown} _kernel
   * @param {{header: {msg_type: string}, content: any}} message
   */
  hear(_kernel, { header, content }) {
    if (!isBridge(content.comm_id)) return;
    if (header.msg_type === "comm_close" && content.comm_id === this.comm?.commId) this.leave();
    if (header.msg_type !== "comm_msg") return;
    this.find(content.comm_id);
    this.bridge?.receive(content.data);
  }

  /** Attach a comm that the kernel opened earlier. @param {string} id */
  find(id) {
    const { kernel } = this;
    if (!isBridge(id) || id === this.comm?.commId) return;
    if (kernel && !handlesComms(kernel)) this.attach(new PlainComm(kernel, TARGET, id));
    else if (kernel?.createComm && !kernel.hasComm?.(id)) this.attach(kernel.createComm(TARGET, id));
  }

  /**
   * Build the bridge over a comm.
   * @param {Comm} comm
   * @param {import("./messages.js").KernelState} [state]
   */
  attach(comm, state) {
    this.bridge?.end(); // a kernel closes its comm before it opens another one, unless it has ended
    this.leave();
    this.comm = comm;
    comm.send({ kind: "hello", protocol: PROTOCOL, version: VERSION });
    if (!comm.commId.startsWith(`${TARGET}.${PROTOCOL}.`)) {
      announce(MISMATCH);
      console.warn(MISMATCH);
      return;
    }
    this.bridge = new Bridge(this, this.views, state);
    void this.urge({ kind: "paints" });
  }

  /** @param {object} content of a message to the kernel */
  send(content) {
    this.comm?.send(content);
  }

  /**
   * Send a message that may not wait for the running cells. It goes in a new comm, which has a subshell
   * if kernel and page support that. The comm is never closed, because that would end a subshell that may
   * be at work. Nothing is sent to a kernel that has ended.
   * @param {object} content
   */
  async urge(content) {
    const { kernel } = this;
    if (!kernel) return;
    try {
      const comm = handlesComms(kernel) ? kernel.createComm?.(URGENT) : new PlainComm(kernel, URGENT);
      await subshellOf(comm);
      // The end of a kernel disposes its comms.
      if (!comm?.isDisposed) comm?.open(content);
    } catch {
      // The kernel has ended.
    }
  }

  /** Leave the bridge; the kernel may open another one. */
  leave() {
    this.bridge?.stop();
    this.bridge = this.comm = null;
  }

  close() {
    this.leave();
    this.kernel?.iopubMessage?.disconnect(this.hear);
    this.context.sessionContext?.kernelChanged?.disconnect(this.connect);
    this.context.disposed?.disconnect(this.close);
  }
}
