import { onTestFinished } from "vitest";
import type { EventLog } from "../../ports/event-log.ts";
import type { DeliverOptions, Router, RouterHandler, TakeoverOptions } from "../../ports/router.ts";
import type { RunId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";

/** A router under test. */
export interface RouterSubject {
  /** The name of the router in the test report. */
  readonly name: string;
  /** Creates the router of a process, on an empty log if it needs one. */
  open(): Promise<RouterNode>;
  /** For a router of several nodes: creates that of one more node, on the log of another one. */
  join?(node: RouterNode): Promise<RouterNode>;
  /** Lets time pass, for a router with a clock of its own; otherwise it passes by itself. */
  pass?(ms: number): Promise<void>;
}

/** The router of one node. */
export interface RouterNode {
  readonly router: Router;
  /** The log that its node has opened; every router of several nodes has one. */
  readonly log?: EventLog;
  /** Ends the process of the node without a word to the others. */
  kill?(): Promise<void>;
}

/** A message as a handler got it. */
export interface DeliveredMessage {
  readonly runId: RunId;
  readonly message: Json;
  readonly options: DeliverOptions | undefined;
}

/** A handler that answers each message with itself, and remembers it. */
export class TestHandler implements RouterHandler {
  readonly agents: RouterHandler["agents"] = { echo: {} };
  readonly delivered: DeliveredMessage[] = [];
  readonly lookedFor: TakeoverOptions[] = [];
  /** The runs in its memory. */
  readonly held: Set<RunId> = new Set();
  /** What it does with a message before the answer. */
  work: (runId: RunId, message: Json) => unknown = () => undefined;

  async deliver(runId: RunId, message: Json, options?: DeliverOptions): Promise<Json> {
    this.delivered.push({ runId, message, options });
    await this.work(runId, message);
    return { runId, message };
  }

  holds(runId: RunId): boolean {
    return this.held.has(runId);
  }

  async takeOver(options: TakeoverOptions): Promise<number> {
    this.lookedFor.push(options);
    return 0;
  }
}

/** A node whose handler is registered. */
export interface ServingNode extends RouterNode {
  readonly handler: TestHandler;
  /** Ends the registration. */
  stop(): Promise<void>;
}

/** Registers a handler with the router of a node, for the duration of a test. */
export async function registerHandler(subject: RouterSubject, node: RouterNode): Promise<ServingNode> {
  const handler = new TestHandler();
  const end = await settle(subject, node.router.serve(handler));
  let ended: Promise<void> | undefined;
  const stop = (): Promise<void> => (ended ??= end());
  onTestFinished(() => settle(subject, stop()));
  return { ...node, handler, stop };
}

/** Creates a router and registers a handler. */
export async function serveOne(subject: RouterSubject): Promise<ServingNode> {
  return registerHandler(subject, await subject.open());
}

/** Waits for a promise while time passes. */
export async function settle<Result>(subject: RouterSubject, promise: Promise<Result>): Promise<Result> {
  let isSettled = false;
  const end = (): void => void (isSettled = true);
  promise.then(end, end);
  await until(subject, () => isSettled);
  return promise;
}

/** Waits until a condition holds, while time passes. */
export async function until(
  { pass = wait }: RouterSubject,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  for (let ms = 0; !(await condition()); ms += STEP_MS) {
    if (ms > MOST_MS) throw new Error(`after ${MOST_MS} ms the router has not done what the test waits for`);
    await pass(STEP_MS);
  }
}

const STEP_MS = 20;
const MOST_MS = 20_000;

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
