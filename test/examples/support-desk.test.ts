/** @module-tag long */
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
  const cwd = await createProject({});
  for (const folder of ["agents", "servers"])
    await cp(join(DESK, folder), join(cwd, folder), { recursive: true });
  for (const name of ["zod", "xstate", "@modelcontextprotocol"])
    await symlink(join(root, "node_modules", name), join(cwd, "node_modules", name));
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
