import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

/** A tab of a browser that is driven by WebDriver BiDi, which Firefox speaks without a driver of its own. */
export interface Bidi {
  open(url: string): Promise<void>;
  /** Resolves when an expression is true in the page, which is asked after each change of it. */
  until(expression: string): Promise<void>;
  /** The errors that the page has reported. */
  faults(): readonly string[];
  close(): void;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly result?: { readonly [name: string]: unknown };
  readonly error?: string;
  readonly message?: string;
  readonly params?: { readonly level?: string; readonly text?: string };
}

/** Connects to a browser that was started with a debugging port. */
export async function openBidi(browser: ChildProcess): Promise<Bidi> {
  const socket = new WebSocket(`${await readAddress(browser)}/session`);
  const asked = new Map<number, (message: Message) => void>();
  const faults: string[] = [];
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) asked.get(message.id)?.(message);
    else if (message.params?.level === "error") faults.push(message.params.text ?? "");
  });
  await new Promise((done, fail) => {
    socket.addEventListener("open", done);
    socket.addEventListener("error", fail);
  });
  let count = 0;
  const ask = async (method: string, params: object): Promise<NonNullable<Message["result"]>> => {
    const id = (count += 1);
    const answer = new Promise<Message>((done) => {
      asked.set(id, done);
    });
    socket.send(JSON.stringify({ id, method, params }));
    const { result, error, message } = await answer;
    asked.delete(id);
    if (result === undefined) throw new Error(`${method}: ${error} ${message}`);
    return result;
  };
  await ask("session.new", { capabilities: {} });
  await ask("session.subscribe", { events: ["log.entryAdded"] });
  const { contexts } = await ask("browsingContext.getTree", {});
  const [{ context } = { context: "" }] = contexts as readonly { readonly context: string }[];
  return {
    async open(url) {
      await ask("browsingContext.navigate", { context, url, wait: "complete" });
    },
    async until(expression) {
      // The page itself looks again after each change, so that nothing is asked in a loop.
      const text = `new Promise((done) => {
        const look = () => { if (${expression}) { watcher.disconnect(); clearInterval(timer); done(true); } };
        const watcher = new MutationObserver(look);
        watcher.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
        const timer = setInterval(look, 200);
        look();
      })`;
      const { type, exceptionDetails } = await ask("script.evaluate", {
        expression: text,
        target: { context },
        awaitPromise: true,
      });
      if (type !== "success") throw new Error(`${expression}: ${JSON.stringify(exceptionDetails)}`);
    },
    faults: () => faults,
    close: () => socket.close(),
  };
}

/** The address that the browser writes when it listens. */
async function readAddress(browser: ChildProcess): Promise<string> {
  if (browser.stderr === null) throw new Error("the browser has no stderr");
  for await (const line of createInterface({ input: browser.stderr })) {
    const [, address] = /WebDriver BiDi listening on (ws:\S+)/.exec(line) ?? [];
    if (address !== undefined) {
      // Read to its end: a browser whose output is not read would stop at a full pipe.
      browser.stderr.resume();
      return address;
    }
  }
  throw new Error("the browser ended before it listened");
}
