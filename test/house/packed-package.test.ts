/** @module-tag long */
import { readFileSync } from "node:fs";
import { access, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { documents, readTypeScript } from "../docs/blocks.ts";
import { createProjectWithPackage, root, run, tsc } from "./packed.ts";

let project = "";
beforeAll(async () => {
  project = await createProjectWithPackage();
});
afterAll(() => rm(project, { recursive: true, force: true }));

test("a package made from a fresh clone has its built files", async () => {
  const packed = join(project, "node_modules/troupe");
  await expect(access(join(packed, "dist/index.js"))).resolves.toBeUndefined();
  await expect(access(join(packed, "dist/console/index.html"))).resolves.toBeUndefined();
});

test("the command line of the package needs no package that an installation lacks", async () => {
  const cli = join(project, "node_modules/troupe/dist/cli");
  expect(await run(process.execPath, [join(cli, "main.js"), "help", "call"], project)).toMatch(
    /^Usage: troupe call /,
  );
  expect(await import(join(cli, "vendor/clack.js"))).toMatchObject({ text: expect.any(Function) as unknown });
});

test("every TypeScript block of the documentation compiles in a project made by tsc --init", async () => {
  const blocks = findTypeScript(documents);
  expect(blocks.length).toBeGreaterThan(5);
  // A page about the client uses the type of an agent of another page.
  const [booking = ""] = readTypeScript("docs/guide/people.md");
  // A page about models uses a provider, which a reader installs.
  await mkdir(join(project, "documentation/node_modules"), { recursive: true });
  await symlink(join(root, "node_modules/@ai-sdk"), join(project, "documentation/node_modules/@ai-sdk"));
  await symlink(join(root, "node_modules/openai"), join(project, "documentation/node_modules/openai"));
  for (const scope of ["@a2a-js", "@agentclientprotocol", "@opentelemetry"])
    await symlink(join(root, "node_modules", scope), join(project, "documentation/node_modules", scope));
  await symlink(join(root, "node_modules/@ag-ui"), join(project, "documentation/node_modules/@ag-ui"));
  for (const name of ["pg", "@types/pg"]) {
    await mkdir(join(project, "documentation/node_modules", name, ".."), { recursive: true });
    await symlink(join(root, "node_modules", name), join(project, "documentation/node_modules", name));
  }
  // Beside the package, whose types name it.
  for (const name of ["ai", "vitest"])
    await symlink(join(root, "node_modules", name), join(project, "node_modules", name));
  await symlink(
    join(root, "node_modules/@statelyai"),
    join(project, "documentation/node_modules/@statelyai"),
  );
  const own = { "agents/booking.ts": booking, "providers.d.ts": PROVIDERS, "chat.d.ts": CHAT_SDK };
  await compile("documentation", { ...Object.fromEntries(blocks), ...own });
});

/** The providers that the repository does not install, with the types of their packages. */
const PROVIDERS = ["anthropic", "openai", "google", "amazon-bedrock"]
  .map((provider) => {
    const name = provider.replace("amazon-", "");
    const model = `import("@ai-sdk/provider").LanguageModelV3`;
    const embedding = `import("@ai-sdk/provider").EmbeddingModelV3`;
    const provides = `{ (modelId: string): ${model}; embedding(modelId: string): ${embedding} }`;
    return `declare module "@ai-sdk/${provider}" { export const ${name}: ${provides}; }`;
  })
  .join("\n");

/** What a page uses of the Chat SDK, as its version 4.41 declares it. */
const CHAT_SDK = `
  declare module "chat" {
    export interface Message { readonly id: string; readonly text: string; readonly author: { readonly userId: string } }
    export interface Thread { readonly id: string; subscribe(): Promise<void>; post(text: string): Promise<unknown> }
    type Handler = (thread: Thread, message: Message) => void | Promise<void>;
    export class Chat {
      constructor(options: { userName: string; adapters: { slack: object }; state: object });
      onNewMention(handler: Handler): void;
      onSubscribedMessage(handler: Handler): void;
      readonly webhooks: { slack(request: Request): Promise<Response> };
    }
  }
  declare module "@chat-adapter/slack" { export function createSlackAdapter(): object; }
  declare module "@chat-adapter/state-memory" { export function createMemoryState(): object; }
`;

test("an agent is tested with the package alone, and a crash too", async () => {
  const program = `
    import { createRuntime, defineAgent, memoryLog } from "troupe";
    import { collect } from "troupe/testing";
    const asker = defineAgent({
      name: "asker",
      purpose: "Asks for a name.",
      async chat(_, turn) {
        return "Hello, " + (await turn.waitForInput({ name: "Who are you?" })).name;
      },
    });
    const log = memoryLog();
    const before = createRuntime({ agents: [asker], log });
    await collect(before, "asker", { type: "ChatRequest", input: "", request_id: "name" });
    const after = createRuntime({ agents: [asker], log: log.reopen() });
    const answer = { type: "ResumeWithInput", request_id: "name", request_keys: { name: "Ada" } };
    console.log((await collect(after, "asker", answer)).at(-1).result);
  `;
  await writeFile(join(project, "crash.mjs"), program);
  expect(await run(process.execPath, ["crash.mjs"], project)).toBe("Hello, Ada\n");
});

test("the adapter of the documentation serves an agent, and refuses in its words", async () => {
  const [[, adapter] = ["", ""]] = findTypeScript(["docs/adapters.md"]);
  const program = `
    import { createRuntime, defineAgent } from "troupe";
    import { createApp } from "troupe/http";
    import { say } from "./say.ts";
    const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });
    const app = createApp(createRuntime({ agents: [echo] }), { adapters: [say], token: "secret" });
    const headers = { authorization: "Bearer secret", "content-type": "application/json" };
    const send = async (path, body, more) => {
      const init = { method: "POST", body: JSON.stringify(body), headers: { ...headers, ...more } };
      const answer = await app.request(path, init);
      console.log(answer.status, (await answer.text()).trim());
    };
    await send("/say/echo", { text: "hello" });
    await send("/say/echo", { text: 7 });
    await send("/say/nobody", { text: "hello" });
    await send("/say/echo", { text: "hello" }, { authorization: "Bearer wrong" });
    await send("/say/echo", { text: "hello" }, { host: "evil.test" });
  `;
  await writeFile(join(project, "say.ts"), adapter);
  await writeFile(join(project, "say-main.mjs"), program);
  expect((await run(process.execPath, ["say-main.mjs"], project)).split("\n")).toEqual([
    '200 {"text":"hello"}',
    '422 {"sorry":"text must be a string"}',
    '404 {"sorry":"there is no route /say/nobody"}',
    '401 {"sorry":"the token is wrong"}',
    '421 {"sorry":"this server is not \\"evil.test\\""}',
    "",
  ]);
});

/** A wire as a stranger writes it: a chat with files, memory, sealed state and the SDK handler of another package. */
const OUTSIDE = `
import { AgentError } from "troupe";
import { lastEventId, parseDataUrl, readJson, reply, replyFrom, replyWithStream, withPrefix } from "troupe/http";
import type { Adapter, StreamFormat } from "troupe/http";
import { conversationKey, RunFold, RunReader, segmentsOf, textOf } from "troupe/projection";
import { isId } from "troupe/protocol";
import type { Event } from "troupe/protocol";

interface Body {
  readonly user: string;
  readonly chat: string;
  readonly text: string;
  readonly file?: string;
}

/** One frame a part, in the order of the run. */
function parts(prefix: string): StreamFormat {
  const fold = new RunFold();
  return {
    opening: "",
    event(text) {
      const event = JSON.parse(withPrefix(text, prefix)) as Event;
      return fold.take(event).map((change) => {
        const shown =
          change.type === "text" ? change.text
          : change.type === "file" ? change.part.file.url
          : change.type === "end" ? change.turn.outcome : "";
        return "id: " + event.id + "\\ndata: " + change.type + " " + shown + "\\n\\n";
      }).join("");
    },
    heartbeat: () => ": alive\\n\\n",
    end: () => "",
  };
}

const wire: Adapter = {
  name: "outside",
  roots: ["outside"],
  owns: (path) => path.startsWith("/outside"),
  toRefusal: ({ code, message }) => ({ body: JSON.stringify({ code, message }) }),
  addRoutes(app, shared, { agent }) {
    app.all("/outside/sdk", (c) => replyFrom(c, 100, async (request) => new Response(await request.text())));
    if (agent === undefined) return;
    app.post("/outside/" + agent, async (c) => {
      const { runtime, bodyLimitBytes, fileLimitBytes, mount } = shared.as(c);
      const { user, chat, text, file } = (await readJson(c, bodyLimitBytes)) as unknown as Body;
      const attachments = [];
      if (file !== undefined) {
        const { bytes, mimeType } = parseDataUrl(file, "file");
        const body = (async function* () { yield bytes; })();
        const stored = await runtime.upload({ name: "note", mimeType, limitBytes: fileLimitBytes, body });
        attachments.push(stored.artifactId);
      }
      const key = await conversationKey("outside", user, chat);
      const input = { type: "ChatRequest", input: text, key, attachments } as const;
      const { requestId, runId } = await runtime.process(agent, input);
      const state = await runtime.seals.seal("outside", { requestId });
      for await (const _page of (await runtime.follow({ kind: "request", agent, runId: runId ?? "", requestId }, {})).pages);
      const { view } = await new RunReader(runtime).read(runId ?? "");
      const said = segmentsOf(view).map(({ parts }) => textOf(parts));
      const files = attachments.map((id) => mount.addressOf(c, "/artifacts/" + id));
      const memory = await runtime.memory(runId ?? "");
      const opened = await runtime.seals.open("outside", state);
      const requests = await runtime.requests(runId ?? "");
      return reply(c, JSON.stringify({
        said, files, memory, runId, opened: opened?.requestId === requestId, requests: requests.length,
      }));
    });
    app.get("/outside/" + agent + "/:run", (c) => replyWithStream(c, shared.as(c), {
      id: c.req.param("run") ?? "",
      async open(signal) {
        const { runtime, mount } = shared.as(c);
        const id = c.req.param("run") ?? "";
        if (!isId(id)) throw new AgentError("not_found", "there is no such run");
        const after = lastEventId(c) ?? 0;
        const feed = await runtime.follow({ kind: "run", agent, runId: id }, { after, signal });
        return { feed, after, format: parts(mount.addressOf(c, "")) };
      },
    }));
  },
};
export default wire;
`;

test("a wire is written outside with the public entries alone", async () => {
  await compile("outside", { "wire.ts": OUTSIDE });
  const program = `
    import { createRuntime, defineAgent } from "troupe";
    import { createApp } from "troupe/http";
    import { z } from "zod";
    import wire from "./outside/wire.ts";
    const clerk = defineAgent({
      name: "clerk",
      purpose: "Counts, and copies files.",
      memorySchema: z.number().default(0),
      async chat(input, turn) {
        turn.memory.set(turn.memory.get() + 1);
        await turn.text(input + "!");
        for (const file of await turn.attachments())
          await turn.artifact({ name: "copy", mimeType: file.mimeType, data: await file.text() });
      },
    });
    const runtime = createRuntime({ agents: [clerk] });
    const app = createApp(runtime, { adapters: [wire], allowedOrigins: ["https://app.example"] });
    const post = async (path, body) => {
      const answer = await app.request("http://localhost" + path, { method: "POST", body, headers: {
        "content-type": "application/json", origin: "https://app.example" } });
      const { headers } = answer;
      console.log(answer.status, headers.get("access-control-allow-origin"), headers.get("x-content-type-options"));
      return answer.text();
    };
    const chat = { user: "u", chat: "\u4f1a".repeat(30), text: "hi", file: "data:text/plain;base64,bm90ZQ==" };
    const first = JSON.parse(await post("/outside/clerk", JSON.stringify(chat)));
    const second = JSON.parse(await post("/outside/clerk", JSON.stringify(chat)));
    console.log(JSON.stringify([second.said, second.memory, second.opened, second.requests, first.runId === second.runId]));
    console.log(/^http:\\/\\/localhost\\/artifacts\\/[\\w-]+$/.test(first.files[0]));
    const read = async (headers) => (await app.request("http://localhost/outside/clerk/" + first.runId, { headers })).text();
    const frames = (await read({})).split("\\n\\n").filter((frame) => frame.includes("data: "));
    console.log(frames.map((frame) => /data: (\\w+)/.exec(frame)[1]).join());
    console.log(frames.some((frame) => frame.includes("http://localhost/artifacts/")));
    const [id] = /\\d+/.exec(frames.at(-2));
    console.log((await read({ "last-event-id": id })).includes(frames.at(-1)));
    console.log(await post("/outside/sdk", "short"));
    console.log(await post("/outside/sdk", "x".repeat(101)));
    await runtime.close();
  `;
  await writeFile(join(project, "outside-main.mjs"), program.replaceAll("\\\\", "\\"));
  const lines = (await run(process.execPath, ["outside-main.mjs"], project)).trim().split("\n");
  const guarded = "200 https://app.example nosniff";
  expect(lines).toEqual([
    guarded,
    guarded,
    '[["hi!","hi!"],2,true,2,true]',
    "true",
    "input,text,file,end,input,text,file,end",
    "true",
    "true",
    guarded,
    "short",
    "413 https://app.example nosniff",
    expect.stringContaining("too_large") as unknown,
  ]);
});

test("AIP says which packages to install, and works with them", async () => {
  await writeFile(
    join(project, "aip.mjs"),
    `import { createRuntime, defineAgent } from "troupe";
import { createAipGateway } from "troupe/adapters/aip";
const echo = defineAgent({ name: "echo", purpose: "Repeats.", chat: (input) => input });
const runtime = createRuntime({ agents: [echo] });
const gateway = createAipGateway(runtime);
try {
  await gateway.start();
  console.log(gateway.nodes().length);
} catch (thrown) {
  console.log(JSON.stringify(thrown));
}
await gateway.stop();
await runtime.close();
`,
  );
  const said = JSON.parse(await run(process.execPath, ["aip.mjs"], project)) as object;
  expect(said).toMatchObject({
    code: "unavailable",
    details: { hint: "npm install @grpc/grpc-js@1.14 @grpc/proto-loader@0.8" },
  });
  await symlink(join(root, "node_modules/@grpc"), join(project, "node_modules/@grpc"));
  expect(await run(process.execPath, ["aip.mjs"], project)).toBe("2\n");
});

/** Compiles files in the project with the settings of `tsc --init`; rejects with the errors. */
async function compile(name: string, files: Readonly<Record<string, string>>): Promise<void> {
  const folder = join(project, name);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const settings = { extends: "../tsconfig.json", compilerOptions: { outDir: "dist" }, include: ["*.ts"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(settings));
  await run(tsc, ["-p", "."], folder);
}

/** The TypeScript blocks of documents, as files named after their position. */
function findTypeScript(paths: readonly string[]): [path: string, code: string][] {
  return paths.flatMap((document) => {
    const text = readFileSync(join(root, document), "utf8");
    return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ 1: code = "", index }): [string, string] => {
      const line = text.slice(0, index).split("\n").length;
      return [`${document.replaceAll(/\W/g, "-")}-line-${line}.ts`, code];
    });
  });
}
