/** @module-tag long */
import { createHmac } from "node:crypto";
import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { createProject, startCommand } from "../cli/command.ts";
import type { RunningCommand } from "../cli/command.ts";

const root = resolve(import.meta.dirname, "../..");
const DESK = join(root, "examples/support-desk");
const APPROVALS = 50;

/** The status of a request, as far as the test looks at it. */
interface Status {
  readonly status: string;
  readonly finish_reason?: string;
  readonly result?: string;
}

/** What the second version changes: a text before the question, the question itself, the model's instructions. */
const SECOND: readonly (readonly [file: string, from: string, to: string])[] = [
  [
    "refund.ts",
    "return turn.waitForInput(question",
    'await turn.text("A person looks at it.");\n        return turn.waitForInput(question',
  ],
  ["refund.ts", "`Refund ${amount} for order ${order}?`", "`Pay ${amount} back for ${order}?`"],
  ["desk.ts", "You are the support desk of a shop.", "You are the friendly support desk of a shop."],
];

/** The third one gives the new path to new turns only. */
const THIRD: typeof SECOND = [
  [
    "refund.ts",
    'await turn.text("A person looks at it.");',
    'if (isNew) await turn.text("A person looks at it.");',
  ],
  ["refund.ts", "`Pay ${amount} back for ${order}?`", "isNew ? `Pay ${amount} back for ${order}?` : old"],
  [
    "refund.ts",
    "const question = z",
    'const isNew = turn.patched("friendly");\n        const old = `Refund ${amount} for order ${order}?`;\n        const question = z',
  ],
];

test("the support desk is deployed twice while 50 approvals wait, and loses none", async () => {
  const cwd = await createDesk();
  const bank = join(cwd, "bank.jsonl");
  let server = await deploy(cwd, bank);
  const ids = Array.from({ length: APPROVALS }, (_, index) => `r-${index}`);
  const ask = (id: string) =>
    server.post({ type: "ChatRequest", input: `ann${id.slice(2)}: refund A${id.slice(2)}`, request_id: id });
  const answer = (id: string) =>
    server.post({ type: "ResumeWithInput", request_id: id, request_keys: { approved: true } });
  const each = <Result>(work: (id: string) => Promise<Result>) => Promise.all(ids.map(work));
  await each(ask);
  expect(statesOf(await each((id) => server.status(id)))).toEqual(["waiting"]);

  await server.kill();
  await change(cwd, SECOND);
  server = await deploy(cwd, bank);
  // The code that the turns began with is kept, and continues them.
  const early = await Promise.all(
    ids.slice(0, APPROVALS / 2).map((id) => answer(id).then(() => server.ended(id))),
  );
  expect(statesOf(early)).toEqual(["completed"]);
  expect(statesOf(await each((id) => server.status(id)))).toEqual(["completed", "waiting"]);

  await server.kill();
  await change(cwd, THIRD);
  server = await deploy(cwd, bank);
  await Promise.all(ids.slice(APPROVALS / 2).map(answer));
  const ends = await each((id) => server.ended(id));
  expect(ends.map(({ finish_reason: reason, result }) => [reason, result])).toEqual(
    ids.map((id) => ["success", `Your money for A${id.slice(2)} is on its way.`]),
  );
  const paid = (await readFile(bank, "utf8")).trimEnd().split("\n");
  const orders = paid.map((line) => (JSON.parse(line) as { readonly order: string }).order);
  expect(orders.toSorted()).toEqual(ids.map((id) => `A${id.slice(2)}`).toSorted());

  const question = await server.post({ type: "ChatRequest", input: "eve: refund A99" });
  expect(question).toMatchObject({
    type: "WaitForInput",
    request_keys: { approved: "Pay 10.99 EUR back for A99?" },
  });
});

test("two shops share the desk: neither sees the other, and finance answers above 100 EUR", async () => {
  const cwd = await createDesk();
  await cp(join(DESK, "troupe.config.ts"), join(cwd, "troupe.config.ts"));
  const env = {
    DESK_BANK: join(cwd, "bank.jsonl"),
    DESK_ACME: "secret of acme",
    DESK_BOLT: "secret of bolt",
  };
  const admin = "the-token-of-the-operators";
  const server = startCommand(["serve", "--port=0"], { cwd, env: { ...env, TROUPE_TOKEN: admin } });
  const [url] = await server.match(/http:\/\/127\.0\.0\.1:\d+/);
  const keyOf = async (name: string, owner: string, ...roles: string[]): Promise<string> => {
    const key = { name, owner, roles: ["user", ...roles] };
    const response = await send(`${url}/keys`, admin, "POST", key);
    return ((await response.json()) as { readonly key: string }).key;
  };
  const [ann, fay, bob] = await Promise.all([
    keyOf("Ann", "acme"),
    keyOf("Fay", "acme", "finance"),
    keyOf("Bob", "bolt"),
  ]);
  const report = async (shop: string, delivery: string, order: string) => {
    const body = JSON.stringify({ delivery, name: "jim", order });
    const hmac = createHmac("sha256", `secret of ${shop}`).update(body).digest("hex");
    const headers = { "x-signature": hmac };
    const response = await fetch(`${url}/webhooks/${shop}`, { method: "POST", body, headers });
    const { request_id: id } = (await response.json()) as { readonly request_id: string };
    // The stream ends when the turn waits.
    await (await send(`${url}/getevents/${id}?stream=true&since=0`, admin)).arrayBuffer();
    return id;
  };
  const answer = (token: string, request_id: string) =>
    send(`${url}/desk/process?wait=true`, token, "POST", {
      type: "ResumeWithInput",
      request_id,
      request_keys: { approved: true },
    });

  const forged = { method: "POST", body: "{}", headers: { "x-signature": "0".repeat(64) } };
  expect((await fetch(`${url}/webhooks/acme`, forged)).status).toBe(401);
  const small = await report("acme", "d-1", "A1");
  const large = await report("acme", "d-2", "A9500");
  expect((await answer(ann, small)).status).toBe(200);
  const refused = await answer(ann, large);
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: "not_an_approver" }]);

  // Bolt finds nothing of acme by any list or id, and may answer nothing.
  expect((await answer(bob, large)).status).toBe(404);
  for (const path of ["runs", "waits", "schedules"])
    expect(await (await send(`${url}/${path}`, bob)).json()).toEqual([]);
  for (const path of [`getevents/${small}`, `request/${small}`, `getevents/${large}?stream=true`])
    expect((await send(`${url}/${path}`, bob)).status).toBe(404);
  // The same number of a delivery and the same customer are others at bolt.
  const other = await report("bolt", "d-1", "A3");
  expect(other).not.toBe(small);
  expect((await answer(bob, other)).status).toBe(200);
  await (await send(`${url}/getevents/${other}?stream=true&since=0`, bob)).arrayBuffer();
  const notes = await send(`${url}/customer/process?wait=completed`, bob, "POST", {
    type: "OperationRequest",
    operation: "notes",
    input: {},
    key: "jim",
  });
  expect(await notes.json()).toMatchObject({ output: ["A3 refunded"] });

  expect((await answer(fay, large)).status).toBe(200);
  await (await send(`${url}/getevents/${large}?stream=true&since=0`, fay)).arrayBuffer();
  const bank = await readFile(env.DESK_BANK, "utf8");
  expect(bank.match(/(?<="order":")\w+/g)?.toSorted()).toEqual(["A1", "A3", "A9500"]);
  const log = await (await send(`${url}/getevents/${large}?stream=true&since=0`, ann)).text();
  expect(log).toMatch(/"type":"ResumeWithInput".*"by":\{"id":"key:\w+","name":"Fay"\}/);
  const audit = startCommand(["audit", "--action=answer", "--json"], {
    cwd,
    env: { TROUPE_URL: url, TROUPE_TOKEN: admin },
  });
  expect(await audit.exited).toBe(0);
  const rows = audit.output().trimEnd().split("\n");
  const whoAnswered = rows.map((row) => JSON.parse(row) as AuditRow);
  expect(whoAnswered.map(({ by, owner, request_id }) => [by.name, owner, request_id])).toEqual([
    ["Fay", "acme", large],
    ["Bob", "bolt", other],
    ["Ann", "acme", small],
  ]);
});

interface AuditRow {
  readonly by: { readonly name: string };
  readonly owner: string;
  readonly request_id: string;
}

function send(url: string, token: string, method = "GET", body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
}

/** A project with the agents of the desk. */
async function createDesk(): Promise<string> {
  const cwd = await createProject({});
  for (const folder of ["agents", "servers"])
    await cp(join(DESK, folder), join(cwd, folder), { recursive: true });
  for (const name of ["zod", "xstate", "@modelcontextprotocol"])
    await symlink(join(root, "node_modules", name), join(cwd, "node_modules", name));
  return cwd;
}

function statesOf(statuses: readonly Status[]): readonly string[] {
  return [...new Set(statuses.map(({ status }) => status))];
}

async function change(cwd: string, edits: typeof SECOND): Promise<void> {
  for (const [file, from, to] of edits) {
    const path = join(cwd, "agents", file);
    const text = await readFile(path, "utf8");
    expect(text).toContain(from);
    await writeFile(
      path,
      text.replace(from, () => to),
    );
  }
}

interface Deployed {
  /** Sends a request to the desk; resolves with the event that ends its turn, or asks. */
  post(body: object): Promise<unknown>;
  status(id: string): Promise<Status>;
  /** The status when the request has ended. */
  ended(id: string): Promise<Status>;
  kill(): Promise<void>;
}

async function deploy(cwd: string, bank: string): Promise<Deployed> {
  const command: RunningCommand = startCommand(["serve", "--port=0", "--durability=relaxed"], {
    cwd,
    env: { DESK_BANK: bank },
  });
  const [url] = await command.match(/http:\/\/127\.0\.0\.1:\d+/);
  const status = async (id: string): Promise<Status> =>
    (await (await fetch(`${url}/request/${id}`)).json()) as Status;
  return {
    async post(body) {
      const isAnswer = "request_keys" in body;
      const response = await fetch(`${url}/desk/process?wait=${isAnswer ? "true" : "completed"}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(response.ok).toBe(true);
      return response.json();
    },
    status,
    async ended(id) {
      await (await fetch(`${url}/getevents/${id}?stream=true&since=0`)).arrayBuffer();
      return status(id);
    },
    async kill() {
      command.kill("SIGKILL");
      await command.exited;
    },
  };
}
