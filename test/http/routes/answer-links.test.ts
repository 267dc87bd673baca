import { once } from "node:events";
import { get } from "node:http";
import type { IncomingMessage } from "node:http";
import { createRuntime, defineAgent, operation } from "troupe";
import type { Agent } from "troupe";
import { serve } from "troupe/node";
import type { ServeOptions } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { collect } from "../../../src/testing/collect.ts";
import { useBrowser } from "../../console/harness/browser.ts";
import { stopClocks } from "../../machine/stopped-clocks.ts";
import { temporaryDirectory } from "../../storage/directories.ts";

const TOKEN = "an-admin-token-of-a-test";
const open = useBrowser();

/** Mails that the agent of the tests has sent: links. */
const mails: string[] = [];

const refunds: Agent = defineAgent({
  name: "refunds",
  purpose: "Refunds payments after a person has approved it.",
  operations: {
    refund: operation({
      description: "Refunds a payment.",
      input: z.object({ amount: z.number() }),
      async run({ amount }, turn) {
        const asked = turn.waitForInput(
          z.object({
            approved: z.boolean().describe(`Refund ${amount} <b>EUR</b>?`),
            speed: z.enum(["now", "tomorrow"]).describe("When?"),
            limit: z.number().max(100).describe("Up to which amount?"),
            note: z.string().optional().describe("A note"),
          }),
        );
        const [one, two] = [
          await turn.answerLink(asked, { name: "Ann", roles: ["finance"] }),
          await turn.answerLink(asked, { name: "Bob", expiresMs: 3_600_000 }),
        ];
        await turn.effect("mail", () => void mails.push(one, two));
        return JSON.stringify(await asked);
      },
    }),
  },
});

interface Started extends AsyncDisposable {
  readonly url: string;
  readonly links: readonly string[];
  readonly requestId: string;
}

/** A server with a refund that waits for its approval. */
async function start(directory?: string, options: ServeOptions = {}): Promise<Started> {
  const log = directory === undefined ? undefined : sqliteLog(directory);
  const runtime = createRuntime({ agents: [refunds], ...(log && { log }) });
  await runtime.ready();
  const open = await runtime.waits({ limit: 10 });
  if (open.events.length === 0) {
    mails.length = 0;
    await collect(runtime, "refunds", {
      type: "OperationRequest",
      operation: "refund",
      input: { amount: 5 },
    });
  }
  await expect.poll(() => mails.length).toBe(2);
  const [wait = "{}"] = (await runtime.waits({ limit: 1 })).events;
  const server = await serve(runtime, { token: TOKEN, drain: false, ...options });
  return {
    url: server.url,
    links: mails.map((path) => server.url + path),
    requestId: (JSON.parse(wait) as { readonly request_id: string }).request_id,
    async [Symbol.asyncDispose]() {
      await server.close({ graceMs: 0 });
      await runtime.close();
    },
  };
}

const GOOD = { approved: "true", speed: "1", limit: "50", note: "a <i>gift</i>" };

async function post(link: string, values: Record<string, string>, headers = {}): Promise<[number, string]> {
  const origin = new URL(link).origin;
  const answer = await fetch(link, {
    method: "POST",
    body: new URLSearchParams(values),
    headers: { origin, ...headers },
  });
  return [answer.status, await answer.text()];
}

async function resultOf({ url, requestId }: Started): Promise<unknown> {
  const answer = await fetch(`${url}/refunds/events/${requestId}?stream=true`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  const text = await answer.text();
  return /"type":"RequestCompleted"/.test(text) ? text : undefined;
}

test(
  "a person answers from a link in a browser without scripts, after a restart, and others read who did",
  { tags: "long" },
  async ({ skip }) => {
    const directory = temporaryDirectory();
    {
      await using before = await start(directory);
      expect(before.links).toHaveLength(2);
    }
    await using server = await start(directory);
    const [link = "", other = ""] = server.links;
    // Mail programs and chats fetch links to show a preview.
    for (let time = 0; time < 100; time += 1) {
      const answer = await fetch(link, { method: time % 2 === 0 ? "GET" : "HEAD" });
      expect(answer.status).toBe(200);
      await answer.text();
    }
    await using tab = await open(skip, link, { scripts: false, expected: /422/ });
    const { page } = tab;
    await page.getByText("Refund 5 <b>EUR</b>?").waitFor();
    await page.getByLabel("Yes").check();
    await page.getByLabel("tomorrow").check();
    await page.getByLabel("Up to which amount?").fill("500");
    await page.getByLabel("A note").fill("fine\nby me");
    await page.getByRole("button", { name: "Send the answer" }).click();
    // The schema of the agent says no; what was filled in is kept.
    await page.getByRole("alert").waitFor();
    expect(await page.getByLabel("A note").inputValue()).toBe("fine\nby me");
    expect(await page.getByLabel("Yes").isChecked()).toBe(true);
    await page.getByLabel("Up to which amount?").fill("99");
    await page.getByRole("button", { name: "Send the answer" }).click();
    await page.getByText("Your answer has arrived").waitFor();
    expect(await resultOf(server)).toContain(String.raw`\"note\":\"fine\\nby me\"`);

    await page.goto(other);
    await page.getByText("Ann has answered this question.").waitFor();
    expect(await post(other, GOOD)).toEqual([409, expect.stringContaining("Ann has answered")]);
  },
);

test(
  "two people send the form at the same time, without scripts and after previews: one wins, and the other reads who, also after a restart",
  { tags: "long" },
  async ({ skip }) => {
    const directory = temporaryDirectory();
    const answered: Record<string, string> = {};
    {
      await using server = await start(directory);
      const [one = "", two = ""] = server.links;
      // As browsers and chats fetch what might be opened.
      const headers = { "sec-purpose": "prefetch;prerender", purpose: "prefetch" };
      const previews = Array.from({ length: 100 }, (_, time) =>
        fetch(time % 2 === 0 ? one : two, { headers }),
      );
      expect(new Set((await Promise.all(previews)).map(({ status }) => status))).toEqual(new Set([200]));
      await using ann = await open(skip, one, { scripts: false, expected: /409/ });
      await using bob = await open(skip, two, { scripts: false, expected: /409/ });
      const people = [ann, bob].map(({ page }) => page);
      for (const page of people) {
        await page.getByLabel("No", { exact: true }).check();
        await page.getByLabel("now", { exact: true }).check();
        await page.getByLabel("Up to which amount?").fill("10");
      }
      await Promise.all(people.map((page) => page.getByRole("button", { name: "Send the answer" }).click()));
      for (const [name, page] of [
        ["Ann", ann.page],
        ["Bob", bob.page],
      ] as const) {
        await page.getByText(/Your answer has arrived|has answered this question/).waitFor();
        answered[name] = await page.locator("body").innerText();
      }
    }
    const isWinner = (name: string): boolean => answered[name]?.includes("Your answer has arrived") === true;
    expect(["Ann", "Bob"].filter(isWinner)).toHaveLength(1);
    const winner = isWinner("Ann") ? "Ann" : "Bob";
    const loser = isWinner("Ann") ? "Bob" : "Ann";
    expect(answered[loser]).toContain(`${winner} has answered this question`);

    const runtime = createRuntime({ agents: [refunds], log: sqliteLog(directory) });
    await runtime.ready();
    const server = await serve(runtime, { token: TOKEN, drain: false });
    onTestFinished(async () => {
      await server.close({ graceMs: 0 });
      await runtime.close();
    });
    for (const path of mails)
      expect(await (await fetch(server.url + path)).text()).toContain(`${winner} has answered this question`);
  },
);

test.each([
  ["another answer", { approved: "false" }],
  ["an equal answer", {}],
])(
  "of two people who answer at once, the second with %s, one wins and the other reads who",
  async (_, own) => {
    await using server = await start();
    const [one = "", two = ""] = server.links;
    const answers = await Promise.all([post(one, GOOD), post(two, { ...GOOD, ...own })]);
    const [won, lost] = answers.toSorted(([a], [b]) => a - b);
    expect(won).toEqual([200, expect.stringContaining("Your answer has arrived")]);
    const winner = answers[0]?.[0] === 200 ? "Ann" : "Bob";
    expect(lost).toEqual([409, expect.stringContaining(`${winner} has answered`)]);
  },
);

test("the same form sent twice is one answer", async () => {
  await using server = await start();
  const [one = ""] = server.links;
  const statuses = (await Promise.all([post(one, GOOD), post(one, GOOD)])).map(([status]) => status);
  // The later one may find the question closed: it then reads that it was answered.
  expect(statuses).toContain(200);
  expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
  expect(await resultOf(server)).toBeDefined();
});

test("a forged, changed or expired link shows nothing and answers nothing", async () => {
  const clocks = stopClocks();
  await using server = await start();
  const [link = ""] = server.links;
  const token = link.slice(link.lastIndexOf("/") + 1);
  const [key = "", payload = "", mac = ""] = token.split(".");
  const fields = JSON.parse(Buffer.from(payload, "base64url").toString()) as Record<string, unknown>;
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const wrong = [
    `${key}.${encode({ ...fields, until: Date.now() + 1e12 })}.${mac}`,
    `${key}.${encode({ ...fields, name: "Root", roles: ["admin"] })}.${mac}`,
    `${key}.${payload}.${"A".repeat(43)}`,
    `${"0".repeat(12)}.${payload}.${mac}`,
    `${key}.${payload}`,
    "x",
    "%00",
    "..%2f..%2fruns",
    "a".repeat(5_000),
  ];
  for (const text of wrong) {
    const path = `${server.url}/answer-links/${text}`;
    const shown = await fetch(path);
    expect([text.slice(0, 40), shown.status]).toEqual([text.slice(0, 40), 404]);
    expect(await shown.text()).not.toContain("Refund");
    expect((await post(path, GOOD))[0]).toBe(404);
  }
  const made = await fetch(`${server.url}/answer-links`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ request_id: server.requestId, expires_ms: 1_000 }),
  });
  const { path } = (await made.json()) as { readonly path: string };
  expect((await fetch(server.url + path)).status).toBe(200);
  clocks.advance(1_000);
  expect((await fetch(server.url + path)).status).toBe(404);
  expect((await post(server.url + path, GOOD))[0]).toBe(404);
  expect(await resultOf(server)).toBeUndefined();
});

test("the page is strict: nothing is loaded, nothing is cached, only its own form answers", async () => {
  await using server = await start();
  const [link = ""] = server.links;
  // Someone follows the link in a web mail. `fetch` would send other headers.
  const visit = get(link, {
    headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
  });
  const [visited] = (await once(visit, "response")) as [IncomingMessage];
  expect(visited.resume().statusCode).toBe(200);
  const shown = await fetch(link);
  const policy = shown.headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; form-action 'self'; base-uri 'none'/,
  );
  expect(shown.headers.get("cache-control")).toBe("no-store");
  expect(shown.headers.get("x-frame-options")).toBe("DENY");
  const html = await shown.text();
  expect(html).not.toMatch(/<script|https?:|<b>EUR|src=|href=/);
  // A page of another site, and a program that sends JSON.
  expect((await post(link, GOOD, { origin: "https://evil.example" }))[0]).toBe(403);
  expect((await post(link, GOOD, { "content-type": "application/json" }))[0]).toBe(415);
  expect((await fetch(link, { method: "DELETE" })).status).not.toBe(200);
  for (const values of [
    {},
    { ...GOOD, approved: "maybe" },
    { ...GOOD, speed: "2" },
    { ...GOOD, limit: "1e999" },
    { ...GOOD, limit: "" },
  ]) {
    expect((await post(link, values))[0]).toBe(422);
  }
  expect(await resultOf(server)).toBeUndefined();
  expect((await post(link, GOOD))[0]).toBe(200);
});

test("a link gives no role that its maker does not have, and only who is known makes one", async () => {
  await using server = await start(undefined, {
    token: undefined,
    authenticate: ({ headers }) =>
      headers.get("x-user") === "ann"
        ? { id: "ann", owner: "default", roles: ["user", "finance"] }
        : undefined,
  });
  const make = async (body: object, user = "ann"): Promise<number> => {
    const answer = await fetch(`${server.url}/answer-links`, {
      method: "POST",
      headers: { "x-user": user, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return answer.status;
  };
  const request_id = server.requestId;
  expect(await make({ request_id, roles: ["finance"] })).toBe(201);
  expect(await make({ request_id, roles: ["admin"] })).toBe(403);
  expect(await make({ request_id }, "bob")).toBe(401);
  expect(await make({ request_id, wait_id: 99 })).toBe(409);
  expect(await make({ request_id: "req_unknown" })).toBe(404);
  expect(await make({ request_id, expires_ms: -1 })).toBe(400);
  expect(await make({ request_id, name: "x".repeat(49) })).toBe(400);
  expect(await make({ request_id, until: 1 })).toBe(400);
});
