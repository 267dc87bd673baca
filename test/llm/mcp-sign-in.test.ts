import { createHash } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { createRuntime, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import { llmAgent, mcpTools, scriptedModel } from "troupe/llm";
import type { ScriptStep } from "troupe/llm";
import type { Event, RequestId } from "troupe/protocol";
import { createApp } from "troupe/http";
import { collect, manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { memorySecrets } from "../../src/storage/memory/secrets.ts";
import { ofType, theOne } from "../agents/events.ts";

const REDIRECT = "https://desk.example.com/signed-in";

/** An MCP server whose tool needs a token of its own authorization server: OAuth 2.1 with PKCE and rotating refresh tokens. */
class Notes implements AsyncDisposable {
  readonly origin: string;
  /** The people of the valid tokens. */
  readonly access = new Map<string, string>();
  readonly refresh = new Map<string, string>();
  /** Everything that must not be in a log. */
  readonly secrets: string[] = [];
  /** A person whose tokens are refused until the next consent. */
  refused: string | undefined;
  /** How often tokens were given for a code, and for a refresh token. */
  readonly grants = { authorization_code: 0, refresh_token: 0 };
  readonly #codes = new Map<string, { readonly challenge: string; readonly person: string }>();
  readonly #close: () => void;
  #count = 0;

  private constructor(origin: string, app: Hono, close: () => void) {
    this.origin = origin;
    this.#close = close;
    const mcp = createMcpHandler(() => {
      const server = new McpServer({ name: "notes", version: "1" });
      server.registerTool(
        "list",
        { description: "Lists notes.", inputSchema: z.object({}) },
        (_input, ctx) => ({
          content: [{ type: "text", text: `the notes of ${String(ctx.http?.authInfo?.extra?.["person"])}` }],
        }),
      );
      return server;
    });
    const metadata = {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
    };
    app.get("/.well-known/oauth-protected-resource/mcp", (c) =>
      c.json({ resource: `${origin}/mcp`, authorization_servers: [origin] }),
    );
    app.get("/.well-known/oauth-authorization-server", (c) => c.json(metadata));
    app.post("/register", async (c) => {
      const given = await c.req.json<object>();
      return c.json({ ...given, client_id: "client-1", client_id_issued_at: 0 }, 201);
    });
    app.get("/authorize", (c) => {
      const { state = "", code_challenge: challenge = "", redirect_uri = "", person = "ann" } = c.req.query();
      const code = this.#secret("code");
      this.#codes.set(code, { challenge, person });
      const to = new URL(redirect_uri);
      for (const [name, value] of Object.entries({ code, state, iss: origin }))
        to.searchParams.set(name, value);
      return c.redirect(to.href);
    });
    app.post("/token", async (c) => {
      const form = await c.req.parseBody<Record<string, string>>();
      const person = form["grant_type"] === "refresh_token" ? this.#refreshed(form) : this.#consented(form);
      if (person === undefined) return c.json({ error: "invalid_grant" }, 400);
      const tokens = { access_token: this.#secret("access"), refresh_token: this.#secret("refresh") };
      this.access.set(tokens.access_token, person);
      this.refresh.set(tokens.refresh_token, person);
      return c.json({ ...tokens, token_type: "Bearer", expires_in: 3600 });
    });
    app.all("/mcp", async (c) => {
      const token = (c.req.header("authorization") ?? "").replace("Bearer ", "");
      const person = this.access.get(token);
      if (person === undefined || person === this.refused)
        return c.text("", 401, { "www-authenticate": "Bearer" });
      return mcp.fetch(c.req.raw, {
        authInfo: { token, clientId: "client-1", scopes: [], extra: { person } },
      });
    });
  }

  static async start(): Promise<Notes> {
    const app = new Hono();
    const http = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0, overrideGlobalObjects: false });
    await once(http, "listening");
    return new Notes(`http://127.0.0.1:${(http.address() as AddressInfo).port}`, app, () => http.close());
  }

  #secret(kind: string): string {
    this.#count += 1;
    const secret = `${kind}-of-the-notes-${this.#count}`;
    if (kind !== "code") this.secrets.push(secret);
    return secret;
  }

  #consented({ code = "", code_verifier: verifier = "" }: Record<string, string>): string | undefined {
    const known = this.#codes.get(code);
    this.#codes.delete(code);
    this.secrets.push(verifier);
    if (known?.challenge !== createHash("sha256").update(verifier).digest("base64url")) return undefined;
    this.grants.authorization_code += 1;
    if (this.refused === known.person) this.refused = undefined;
    return known.person;
  }

  #refreshed({ refresh_token: token = "" }: Record<string, string>): string | undefined {
    const person = this.refresh.get(token);
    this.refresh.delete(token);
    if (person !== undefined) this.grants.refresh_token += 1;
    return person;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#close();
    return Promise.resolve();
  }
}

/** A model that signs in if it may, and otherwise lists the notes, and what it was offered. */
function createClerk(notes: Notes, offers: (readonly string[])[], redirectUrl: string = REDIRECT) {
  const model = scriptedModel(({ messages, tools }): string | ScriptStep => {
    const names = tools.map(({ name }) => name);
    offers.push(names);
    const last = messages.at(-1);
    if (last?.role === "tool" && (last.name === "list" || last.isError === true)) return last.content;
    const name = names.includes("sign_in_notes") ? "sign_in_notes" : "list";
    return { toolCalls: [{ name, input: {} }] };
  });
  const tools = mcpTools(
    {
      url: `${notes.origin}/mcp`,
      oauth: { redirectUrl, owner: (turn) => turn.metadata["user"] as string },
    },
    { name: "notes" },
  );
  return llmAgent({ name: "clerk", purpose: "Lists notes.", instructions: "", model, tools: [tools] });
}

function ask(runtime: Runtime, user: string): Promise<readonly Event[]> {
  return collect(runtime, "clerk", { type: "ChatRequest", input: "?", request_metadata: { user } });
}

/** The question in which a sign-in stands. */
function questionOf(events: readonly Event[]): string {
  return ofType(events, "WaitForInput").at(-1)?.request_keys["address"] ?? "";
}

/** Opens the address of a question as the browser of a person who agrees. Returns where it is led. */
async function agree(question: string, person: string): Promise<string> {
  const [url = ""] = /http\S+/.exec(question) ?? [];
  const answer = await fetch(`${url}&person=${person}`, { redirect: "manual" });
  return answer.headers.get("location") ?? "";
}

function answer(runtime: Runtime, id: RequestId, address: string): Promise<readonly Event[]> {
  return collect(runtime, "clerk", { type: "ResumeWithInput", request_id: id, request_keys: { address } });
}

test("a person signs in when the model needs it, also over a restart, and the tokens are in no log", async () => {
  await using notes = await Notes.start();
  const log = memoryLog();
  const secrets = memorySecrets();
  const offers: (readonly string[])[] = [];
  const start = () => createRuntime({ agents: [createClerk(notes, offers)], log: log.reopen(), secrets });
  const first = start();
  const asked = await ask(first, "ann");
  const id = asked[0]?.request_id as RequestId;
  expect(offers).toEqual([["sign_in_notes"]]);
  expect(questionOf(asked)).toMatch(/^Open http\S+ and agree\. Then give the address/);

  // The address of somebody else's sign-in.
  const led = await agree(questionOf(asked), "ann");
  expect(led).toMatch(/^https:\/\/desk\.example\.com\/signed-in\?code=/);
  const foreign = new URL(led);
  foreign.searchParams.set("state", "another");
  const again = await answer(first, id, foreign.href);
  expect(questionOf(again)).toMatch(/^That address belongs to another sign-in\. Open http/);
  expect(notes.grants.authorization_code).toBe(0);
  await first.close();

  const second = start();
  const ended = await answer(second, id, led);
  expect(ended.at(-1)).toMatchObject({ type: "RequestCompleted", result: "the notes of ann" });
  expect(offers.at(-1)).toEqual(["list"]);
  expect(notes.grants).toEqual({ authorization_code: 1, refresh_token: 0 });

  // Bob has no tokens of his own, and does not get those of Ann.
  const bob = await ask(second, "bob");
  expect(offers.at(-1)).toEqual(["sign_in_notes"]);
  const his = await answer(second, bob[0]?.request_id as RequestId, await agree(questionOf(bob), "bob"));
  expect(his.at(-1)).toMatchObject({ result: "the notes of bob" });
  expect((await ask(second, "ann")).at(-1)).toMatchObject({ result: "the notes of ann" });
  const said = JSON.stringify([asked, again, ended, bob, his]);
  for (const secret of notes.secrets) expect(said).not.toContain(secret);
  expect((await secrets.names()).filter((name) => name.startsWith("sign-in/"))).toHaveLength(2);
  await second.close();
});

test("the server itself takes the browser back: the state is checked, works once, and expires", async () => {
  await using notes = await Notes.start();
  const environment = manualEnvironment();
  const clerk = createClerk(notes, [], "https://desk.example.com/answer-links/signed-in");
  const runtime = createRuntime({ agents: [clerk], environment });
  const app = createApp(runtime, { token: "token-of-the-server", allowedHosts: ["desk.example.com"] });
  const load = async (
    address: string,
    init: RequestInit = {},
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const response = await app.request(address, init);
    return { status: response.status, text: await response.text() };
  };
  const asked = await ask(runtime, "<ann>");
  expect(questionOf(asked)).toMatch(/^Open http\S+ and agree\.$/);
  const led = await agree(questionOf(asked), "ann");
  expect(led).toMatch(/^https:\/\/desk\.example\.com\/answer-links\/signed-in\?code=/);

  const forged = new URL(led);
  forged.searchParams.set("state", `${forged.searchParams.get("state") ?? ""}x`);
  for (const method of ["GET", "POST"]) expect((await load(forged.href, { method })).status).toBe(404);
  // A browser, or a program that looks at links, changes nothing by reading.
  const headers = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
  };
  const shown = await load(led, { headers });
  expect(shown.status).toBe(200);
  expect(shown.text).toContain("&#60;ann&#62;");
  expect(notes.grants.authorization_code).toBe(0);
  const id = asked[0]?.request_id as RequestId;
  expect(await runtime.status(id)).toMatchObject({ status: "waiting" });

  expect(await load(led, { method: "POST" })).toMatchObject({ status: 200 });
  const address = await runtime.resolve(id);
  const events: Event[] = [];
  for await (const { events: texts } of (await runtime.follow(address, { after: 0 })).pages)
    events.push(...texts.map((text) => JSON.parse(text) as Event));
  expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", result: "the notes of ann" });
  expect((await load(led, { method: "POST" })).status).toBe(404);

  const bob = await ask(runtime, "bob");
  const late = await agree(questionOf(bob), "bob");
  await environment.advance(21 * 60_000);
  for (const method of ["GET", "POST"]) expect((await load(late, { method })).status).toBe(404);
  const again = await answer(runtime, bob[0]?.request_id as RequestId, late);
  expect(questionOf(again)).toMatch(/^That sign-in has expired\. Open http/);
  expect(notes.grants.authorization_code).toBe(1);
  await runtime.close();
});

test(
  "of two nodes, one renews the tokens of a person, and the other one uses what it got",
  { tags: "long" },
  async () => {
    await using notes = await Notes.start();
    const secrets = memorySecrets();
    const start = () => createRuntime({ agents: [createClerk(notes, [])], secrets });
    const nodes = [start(), start(), start()];
    const [first] = nodes as [Runtime];
    const asked = await ask(first, "ann");
    await answer(first, asked[0]?.request_id as RequestId, await agree(questionOf(asked), "ann"));
    const askAll = async (): Promise<void> => {
      const ends = await Promise.all(nodes.map(async (node) => (await ask(node, "ann")).at(-1)));
      for (const end of ends) expect(end).toMatchObject({ result: "the notes of ann" });
    };
    await askAll();
    // All find out at once that their token is not accepted any more. A refresh token works once.
    for (let round = 1; round <= 3; round += 1) {
      notes.access.clear();
      await askAll();
      expect(notes.grants).toEqual({ authorization_code: 1, refresh_token: round });
    }
    for (const node of nodes) await node.close();
  },
);

test(
  "a token that is refused is renewed once, and without a renewal the person signs in again",
  { tags: "long" },
  async () => {
    await using notes = await Notes.start();
    const offers: (readonly string[])[] = [];
    const runtime = createRuntime({ agents: [createClerk(notes, offers)] });
    const asked = await ask(runtime, "ann");
    await answer(runtime, asked[0]?.request_id as RequestId, await agree(questionOf(asked), "ann"));
    notes.access.clear();
    expect((await ask(runtime, "ann")).at(-1)).toMatchObject({ result: "the notes of ann" });
    expect(notes.grants).toEqual({ authorization_code: 1, refresh_token: 1 });

    notes.access.clear();
    notes.refresh.clear();
    const refused = await ask(runtime, "ann");
    expect(theOne(refused, "ToolError").content).toBe("sign in again, with the tool sign_in_notes");
    const renewed = await ask(runtime, "ann");
    expect(offers.at(-1)).toEqual(["sign_in_notes"]);
    const id = renewed[0]?.request_id as RequestId;
    const ended = await answer(runtime, id, await agree(questionOf(renewed), "ann"));
    expect(ended.at(-1)).toMatchObject({ result: "the notes of ann" });

    // Tokens are renewed, but refused until the person agrees again.
    notes.refused = "ann";
    await ask(runtime, "ann");
    const banned = await ask(runtime, "ann");
    expect(offers.at(-1)).toEqual(["sign_in_notes"]);
    const last = banned[0]?.request_id as RequestId;
    expect((await answer(runtime, last, await agree(questionOf(banned), "ann"))).at(-1)).toMatchObject({
      result: "the notes of ann",
    });
    await runtime.close();
  },
);
