import { createRuntime, defineAgent } from "troupe";
import type { Runtime } from "troupe";
import { a2a } from "troupe/adapters/a2a";
import { agUi } from "troupe/adapters/ag-ui";
import { agentic } from "troupe/adapters/agentic";
import { agentscope } from "troupe/adapters/agentscope";
import { openai } from "troupe/adapters/openai";
import { ui } from "troupe/adapters/ui";
import { tasks } from "troupe/adapters/tasks";
import { createApp } from "troupe/http";
import fc from "fast-check";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import { payments } from "../../../agents/payments.ts";
import { bodyOf } from "../server.ts";
import type { App } from "../server.ts";
import { MAKING, REQUESTS } from "./requests.ts";
import { authenticate, headersOf, outsiders } from "./tokens.ts";
import type { Caller } from "./tokens.ts";

/** A text that is in everything of one owner. */
export const CANARY = "canary7391";

/** An id of nothing. */
const NONE = "none-1234";

const board = defineAgent({
  name: "board",
  purpose: "Keeps notes.",
  messages: { note: z.string() },
  chat: async (input, turn) => turn.text(`noted ${input}`),
});

/** What a server of the scene needs besides its agents. */
export type NodeParts = Omit<Parameters<typeof createRuntime>[0], "agents">;

/** Servers over one log with things of the owner `acme`. Everything of Ann contains the canary. */
export interface Scene {
  readonly apps: readonly App[];
  /** The ids of all that Ann has: runs, requests, keys, files. */
  readonly ids: readonly string[];
  /** The runs among them. */
  readonly runs: readonly string[];
}

/** What the rest of a server says to a request. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Starts a server on each of some logs that share what they have, and makes Ann's things on the first one. */
export async function openScene(nodes: readonly NodeParts[]): Promise<Scene> {
  const apps: App[] = [];
  for (const parts of nodes) {
    const runtime: Runtime = createRuntime({ agents: [payments, board], ...parts });
    onTestFinished(() => runtime.close());
    await runtime.ready();
    const adapters = [tasks(), agentic(), agentscope(), ui(), agUi(), openai(), a2a()];
    const console = { page: "<html></html>", files: new Map(), version: "1" };
    apps.push(createApp(runtime, { authenticate, adapters, console, trustProxy: true }));
  }
  const [app] = apps;
  if (app === undefined) throw new Error("a scene has at least one server");

  const start = async (agent: string, body: object): Promise<{ run_id: string; request_id: string }> => {
    const answer = await call(app, "POST", `/${agent}/process?wait=completed`, "ann", body);
    return (await bodyOf(answer)) as { run_id: string; request_id: string };
  };
  const pay = { type: "ChatRequest", input: `pay 30 to ${CANARY}` };
  const waiting = await start("payments", { ...pay, request_id: "order-1", key: "desk-1" });
  const metadata = { customer: CANARY };
  const ended = await start("board", { type: "ChatRequest", input: CANARY, request_metadata: metadata });
  await start("board", { type: "Message", name: "note", body: CANARY, run_id: ended.run_id });
  await call(app, "POST", "/payments/configure", "ann", { args: { text: CANARY }, run_id: waiting.run_id });
  const forked = await bodyOf(await call(app, "POST", `/runs/${ended.run_id}/fork`, "ann", { after: 0 }));
  const uploaded = await app.request(`/artifacts?name=${CANARY}`, {
    method: "POST",
    body: CANARY,
    headers: headersOf("ann"),
  });
  const { artifact_id: file } = (await bodyOf(uploaded)) as { artifact_id: string };
  const news = { name: "note", body: CANARY };
  expect((await call(app, "POST", "/topics/news-1/publications", "ann", news)).status).toBe(202);
  const linked = await call(app, "POST", "/answer-links", "ann", { request_id: "order-1" });
  expect(linked.status).toBe(201);

  // What there is can be read by its owner and by operators, on each server: the requests of strangers are ones that work.
  for (const each of apps) {
    expect(await textOf(await call(each, "GET", "/request/order-1", "ann"))).toContain(CANARY);
    expect(await textOf(await call(each, "GET", `/events/${ended.run_id}?since=0`, "ann"))).toContain(CANARY);
    expect(await textOf(await call(each, "GET", `/runs/${waiting.run_id}`, "ops"))).toContain(CANARY);
    expect(await textOf(await call(each, "GET", `/artifacts/${file}`, "ann"))).toContain(CANARY);
    expect(await textOf(await call(each, "GET", "/topics/news-1/publications", "ann"))).toContain(CANARY);
  }
  const runs = [waiting.run_id, ended.run_id, forked["run_id"] as string];
  return { apps, runs, ids: [...runs, "order-1", ended.request_id, "desk-1", file, "news-1"] };
}

/**
 * Makes requests as the wrong owner and as no one, each for what is Ann's and for what is nothing, and expects the same answer
 * byte by byte, without the canary.
 */
export async function expectWalls({ apps, ids }: Scene, cases: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...REQUESTS),
      fc.constantFrom(...ids),
      fc.constantFrom<Caller>("bob", "bob", "bob", "bob", ...outsiders),
      fc.nat(apps.length - 1),
      async ([method, path, bodyOfId], id, caller, node) => {
        const app = apps[node] as App;
        const [own, other] = await Promise.all(
          [id, NONE].map(async (each) => {
            const answer = await call(app, method, path.replaceAll("ID", each), caller, bodyOfId?.(each));
            const text = await textOf(answer);
            expect(text).not.toContain(CANARY);
            return { status: answer.status, text: normalized(text, each) } satisfies Answer;
          }),
        );
        expect(own).toEqual(other);
        // The pages of answer links are open to everyone who has a link.
        const isOpen = path.startsWith("/answer-links/");
        if (caller !== "bob" && !isOpen) expect(own?.status).toBe(401);
      },
    ),
    { numRuns: cases },
  );
}

/** Makes things of Bob with the names of Ann's, and expects that nothing of hers is in them. */
export async function expectOwnThings({ apps, ids }: Scene): Promise<void> {
  for (const id of ids) {
    for (const [method, path, bodyOfId] of MAKING) {
      for (const app of apps) {
        const answer = await call(app, method, path, "bob", bodyOfId?.(id));
        const text = await answer.text();
        expect([200, 201, 202], `${method} ${path} for ${id}: ${answer.status} ${text}`).toContain(
          answer.status,
        );
        expect(text).not.toContain(CANARY);
        // The turn of a task goes on behind its answer, and its session takes no other until it has ended.
        if (path.endsWith("/task")) {
          const { task_id: task } = JSON.parse(text) as { task_id: string };
          const events = await call(app, "GET", `/getevents?request_id=${task}&since=0&stream=true`, "bob");
          expect(await textUntil(events, "RequestCompleted")).toContain("RequestCompleted");
        }
      }
    }
  }
}

/** Makes a request, each from an address of its own: wrong tokens from one address are soon refused before they are looked at. */
export async function call(
  app: App,
  method: string,
  path: string,
  caller: Caller,
  body?: unknown,
): Promise<Response> {
  requests += 1;
  return app.request(path, {
    method,
    headers: {
      ...headersOf(caller),
      "x-forwarded-for": `10.${(requests >> 16) & 255}.${(requests >> 8) & 255}.${requests & 255}`,
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(path.startsWith("/a2a/") && path.includes("/v1/") && { "a2a-version": "1.0" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

let requests = 0;

/** Reads what an answer has, of a stream its first part. */
export async function textOf(answer: Response): Promise<string> {
  const isStream = (answer.headers.get("content-type") ?? "").includes("event-stream");
  return isStream ? textUntil(answer, "") : answer.text();
}

/** Reads an answer until it has this text, or ends. */
export async function textUntil({ body }: Response, end: string): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.includes(end)) break;
  }
  await reader?.cancel();
  return text;
}

/** What differs between any two answers: ids that the server has just made, and times. */
function normalized(text: string, id: string): string {
  return text
    .replaceAll(id, "ID")
    .replaceAll(/(?:req|run|msg)_[\w-]+/g, "NEW")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/"(?:created_at|completed_at|created)":\d+/g, '"AT":0');
}
