import type { Principal } from "troupe";
import { agentic } from "troupe/adapters/agentic";
import { agentscope } from "troupe/adapters/agentscope";
import { tasks } from "troupe/adapters/tasks";
import fc from "fast-check";
import { expect, test } from "vitest";
import { payments } from "../../agents/payments.ts";
import { bodyOf, startApp } from "./server.ts";
import type { App } from "./server.ts";

/** A text that is in everything of one owner. */
const CANARY = "canary7391";

/** How many requests; `npm run test:walls` makes 200,000 of them. */
const CASES = Number(process.env["WALLS_CASES"] ?? 2_000);

const PEOPLE: Readonly<Record<string, Principal>> = {
  ann: { id: "ann", owner: "acme", roles: ["user"] },
  bob: { id: "bob", owner: "bolt", roles: ["user"] },
  ops: { id: "ops", owner: "default", roles: ["operator"] },
};

const as = (name: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${name}` });

async function call(app: App, method: string, path: string, who: string, body?: unknown): Promise<Response> {
  return app.request(path, {
    method,
    headers: { ...as(who), ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** Reads what an answer has, of a stream its first part. */
async function textOf(answer: Response): Promise<string> {
  const isStream = (answer.headers.get("content-type") ?? "").includes("event-stream");
  return isStream ? textUntil(answer, "") : answer.text();
}

/** Reads an answer until it has this text, or ends. */
async function textUntil({ body }: Response, end: string): Promise<string> {
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

/** Every kind of request that names something, in all wires. */
const REQUESTS: readonly (readonly [method: string, path: string, body?: (id: string) => unknown])[] = [
  ["GET", "/runs/ID"],
  ["DELETE", "/runs/ID"],
  ["POST", "/runs/ID/fork", () => ({ after: 0 })],
  ["POST", "/runs/ID/retry"],
  ["POST", "/runs/ID/end"],
  ["GET", "/request/ID"],
  ["GET", "/payments/request/ID"],
  ["GET", "/events/ID?since=0"],
  ["GET", "/getevents/ID"],
  ["GET", "/getevents/ID?since=0&stream=true"],
  ["GET", "/payments/getevents?run_id=ID&since=0"],
  ["GET", "/payments/events/ID?stream=true&follow=true"],
  ["GET", "/payments/runs?key=ID"],
  ["GET", "/waits?run_id=ID"],
  ["GET", "/artifacts/ID"],
  ["POST", "/payments/process?wait=completed", (id) => ({ type: "ChatRequest", input: "hi", run_id: id })],
  [
    "POST",
    "/payments/process",
    (id) => ({ type: "ResumeWithInput", request_id: id, request_keys: { approved: true } }),
  ],
  [
    "POST",
    "/payments/process",
    (id) => ({ type: "ResumeWithInput", run_id: id, request_keys: { approved: true } }),
  ],
  [
    "POST",
    "/payments/process",
    (id) => ({ type: "ResumeWithInput", key: id, request_keys: { approved: true } }),
  ],
  ["POST", "/payments/process", (id) => ({ type: "CancelRequest", request_id: id })],
  ["POST", "/payments/configure", (id) => ({ args: {}, run_id: id })],
  ["POST", "/payments/stream_request", (id) => ({ type: "ChatRequest", input: "hi", run_id: id })],
  ["POST", "/payments/process", (id) => ({ type: "ChatRequest", input: "hi", attachments: [id] })],
  ["POST", "/answer-links", (id) => ({ request_id: id })],
  ["GET", "/answer-links/ID"],
  ["POST", "/runs/ID/dead-letters/ID"],
  ["DELETE", "/runs/ID/dead-letters/ID"],
  ["GET", "/audit?run_id=ID"],
  ["GET", "/audit?by=ID"],
  ["POST", "/erase", (id) => ({ run_id: id })],
  ["GET", "/inspect/runs/ID"],
  ["GET", "/inspect/completions/ID/ID"],
  ["GET", "/troupe-topic/runs?key=ID"],
  ["GET", "/ap/v1/agent/tasks/ID"],
  ["GET", "/ap/v1/agent/tasks/ID/steps"],
  ["POST", "/ap/v1/agent/tasks/ID/steps", () => ({ input: "hi" })],
  ["GET", "/ap/v1/agent/tasks/ID/artifacts"],
  ["GET", "/agentic/payments/threads/ID/logs"],
  ["GET", "/agentic/payments/getevents?thread_id=ID"],
  ["POST", "/agentic/payments/process", (id) => ({ prompt: "hi", thread_id: id })],
  ["POST", "/agentic/payments/resume", (id) => ({ thread_id: id, response: { approved: "yes" } })],
  ["GET", "/agentscope/payments/process/task/ID"],
  ["GET", "/agentscope/payments/process/sessions/ID/stream"],
  ["POST", "/agentscope/payments/stop", (id) => ({ session_id: id })],
];

/** Lists, which name nothing. */
const LISTS = [
  "/runs",
  "/payments/runs?q=canary",
  "/runs?status=waiting",
  "/waits",
  "/payments/waits",
  "/metrics",
  "/audit",
  "/dead-letters",
  "/inspect/open-turns",
  "/troupe-topic/runs",
  "/inspect",
  "/inspect/actors",
  "/inspect/open-turns",
  "/ap/v1/agent/tasks",
  "/agentic/payments/threads",
];

/** What differs between any two answers: ids that the server has just made, and times. */
function normalized(text: string, id: string): string {
  return text
    .replaceAll(id, "ID")
    .replaceAll(/(?:req|run|msg)_[\w-]+/g, "NEW")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/"(?:created_at|completed_at|created)":\d+/g, '"AT":0');
}

test(`of ${CASES} requests as the wrong owner and as no one, none gets a byte of another owner, and each answer is that for what does not exist`, async () => {
  const authenticate = ({ headers }: Request): Principal | undefined =>
    PEOPLE[(headers.get("authorization") ?? "").replace("Bearer ", "")];
  await using server = await startApp({ authenticate, adapters: [tasks(), agentic(), agentscope()] }, [
    payments,
  ]);
  const { app } = server;
  const asked = await call(app, "POST", "/payments/process?wait=completed", "ann", {
    type: "ChatRequest",
    input: `pay 30 to ${CANARY}`,
    request_id: "order-1",
    key: "desk-1",
  });
  const { run_id: run } = (await bodyOf(asked)) as { run_id: string };
  const uploaded = await app.request(`/artifacts?name=${CANARY}`, {
    method: "POST",
    body: CANARY,
    headers: as("ann"),
  });
  const { artifact_id: file } = (await bodyOf(uploaded)) as { artifact_id: string };
  // What there is can be read by its owner: the requests below are ones that work.
  expect(await textOf(await call(app, "GET", "/request/order-1", "ann"))).toContain(CANARY);
  expect(await textOf(await call(app, "GET", `/runs/${run}`, "ops"))).toContain(CANARY);

  const ids = [run, "order-1", "desk-1", file];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...REQUESTS),
      fc.constantFrom(...ids),
      fc.constantFrom("bob", "bob", "bob", "nobody"),
      async ([method, path, bodyOfId], id, who) => {
        const none = "none-1234";
        const [own, other] = await Promise.all(
          [id, none].map(async (each) => {
            const answer = await call(app, method, path.replaceAll("ID", each), who, bodyOfId?.(each));
            return { status: answer.status, text: await textOf(answer) };
          }),
        );
        expect(own?.text).not.toContain(CANARY);
        expect({ ...own, text: normalized(own?.text ?? "", id) }).toEqual({
          ...other,
          text: normalized(other?.text ?? "", none),
        });
        // The pages of answer links are open to everyone who has a link.
        const isOpen = path.startsWith("/answer-links/");
        expect(who !== "nobody" || isOpen || [401, 429].includes(own?.status ?? 0)).toBe(true);
      },
    ),
    { numRuns: CASES },
  );
  for (const path of LISTS) {
    for (const who of ["bob", "nobody"]) {
      const text = await textOf(await call(app, "GET", path, who));
      expect(text).not.toContain(CANARY);
      expect(text).not.toContain(run);
    }
  }
  // A stream says what is there and what changes, in this order: up to his own run, which is the newest.
  const stream = await call(app, "GET", "/runs?stream=true", "bob");
  const pay = async (who: string): Promise<string> => {
    const request = { type: "ChatRequest", input: `pay 30 to ${who === "ann" ? CANARY : who}` };
    const paid = await bodyOf(await call(app, "POST", "/payments/process?wait=completed", who, request));
    return (paid as { run_id: string }).run_id;
  };
  const [foreign, newest] = [await pay("ann"), await pay("bob")];
  const said = await textUntil(stream, newest);
  expect(said).toContain(newest);
  for (const text of [CANARY, run, foreign]) expect(said).not.toContain(text);

  // All of it is still there, as it was.
  expect(await bodyOf(await call(app, "GET", "/request/order-1", "ann"))).toMatchObject({
    status: "waiting",
  });
});
