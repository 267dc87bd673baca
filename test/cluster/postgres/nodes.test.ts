import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Event } from "troupe/protocol";
import { expect, onTestFinished, test } from "vitest";
import { needsPostgres, postgresUrl } from "../../machine/postgres.ts";
import { newSchema } from "./logs.ts";

needsPostgres();

/** Processes start and die in each test, and a node is dead only after 1.5 s. */
const TIMEOUT_MS = 120_000;

interface NodeProcess {
  readonly url: string;
  readonly node: string;
  readonly process: ChildProcess;
}

/** Starts a node as a process, which is killed at the end of the test. */
async function start(schema: string): Promise<NodeProcess> {
  const options = JSON.stringify({ url: await postgresUrl(), schema });
  const program = join(import.meta.dirname, "node-child.ts");
  const child = spawn(process.execPath, ["--conditions=troupe-source", program, options], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const { url, node } = JSON.parse(line) as { readonly url: string; readonly node: string };
  return { url, node, process: child };
}

async function startThree(): Promise<readonly [NodeProcess, NodeProcess, NodeProcess]> {
  const schema = newSchema();
  const first = await start(schema);
  return [first, ...(await Promise.all([start(schema), start(schema)]))];
}

/** Sends a request until a node has accepted it, as clients do. */
async function post(node: NodeProcess, body: object): Promise<{ readonly run_id: string }> {
  for (;;) {
    const response = await fetch(`${node.url}/shop/process`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (response.ok) return (await response.json()) as { readonly run_id: string };
    const text = await response.text();
    if (response.status !== 503) throw new Error(`${response.status} ${text}`);
  }
}

/** The events of a run after an event, from any of the nodes, until one that is wanted. */
async function follow(
  nodes: readonly NodeProcess[],
  runId: string,
  wanted: (event: Event) => boolean,
): Promise<readonly Event[]> {
  const events: Event[] = [];
  for (let turn = 0; ; turn += 1) {
    const { url } = nodes[turn % nodes.length] as NodeProcess;
    const after = events.at(-1)?.id ?? 0;
    const response = await fetch(`${url}/shop/getevents/${runId}?since=${after}&timeout=1`).catch(
      () => undefined,
    );
    if (response?.ok !== true) continue;
    events.push(...((await response.json()) as Event[]));
    if (events.some(wanted)) return events;
  }
}

function checkWhole(events: readonly Event[]): void {
  expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ type, depth }) => type === "RequestCompleted" && depth === 0)).toHaveLength(1);
}

const isEnd = (event: Event): boolean => event.type === "RequestCompleted";

test(
  "a payment is asked on one node and answered on another one while the first is killed",
  { timeout: TIMEOUT_MS },
  async () => {
    const [a, b, c] = await startThree();
    const request = { type: "OperationRequest", operation: "buy", input: "tea", request_id: "order-1" };
    const { run_id: runId } = await post(a, request);
    await follow([b], runId, ({ type }) => type === "WaitForInput");
    a.process.kill("SIGKILL");
    const answer = { type: "ResumeWithInput", request_id: "order-1", request_keys: { price: "3 €" } };
    await post(b, answer);
    const events = await follow([c, b], runId, isEnd);
    checkWhole(events);
    expect(events.at(-1)).toMatchObject({ output: { thing: "tea", price: "3 €" }, finish_reason: "success" });
    // Each node recognises the request.
    for (const node of [b, c]) expect(await post(node, request)).toMatchObject({ run_id: runId });
  },
);

test.each(["SIGKILL", "SIGTERM", "SIGSTOP"] as const)(
  "turns whose node gets %s end once, on another node, without a hole",
  { timeout: TIMEOUT_MS },
  async (signal) => {
    const [a, b, c] = await startThree();
    const ids = Array.from({ length: 6 }, (_, index) => `count-${index}`);
    const runs = await Promise.all(
      ids.map((id) => post(a, { type: "OperationRequest", operation: "count", input: 60, request_id: id })),
    );
    await follow([a], runs[0]?.run_id ?? "", ({ id }) => id > 10);
    a.process.kill(signal);
    const all = await Promise.all(runs.map(({ run_id: runId }) => follow([b, c], runId, isEnd)));
    if (signal === "SIGSTOP") a.process.kill("SIGCONT");
    for (const events of all) {
      checkWhole(events);
      const said = events.map((event) => (event.type === "TextOutput" ? event.content : "")).join("");
      expect(said).toBe(Array.from({ length: 60 }, (_, index) => `${index + 1} `).join(""));
    }
  },
);

test(
  "ids that are sent to all nodes at once start one turn each, with equal answers",
  { timeout: TIMEOUT_MS },
  async () => {
    const nodes = await startThree();
    const ids = Array.from({ length: 20 }, (_, index) => `same-${index}`);
    const answers = await Promise.all(
      ids.map((id) =>
        Promise.all(nodes.map((node) => post(node, { type: "ChatRequest", input: id, request_id: id }))),
      ),
    );
    for (const [index, runs] of answers.entries()) {
      const [run] = runs;
      expect(runs.map(({ run_id: runId }) => runId)).toEqual(nodes.map(() => run?.run_id));
      const events = await follow(nodes, run?.run_id ?? "", isEnd);
      checkWhole(events);
      expect(events.at(-1)).toMatchObject({ result: `same-${index}` });
    }
  },
);
