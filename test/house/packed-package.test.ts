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
  for (const scope of ["@a2a-js", "@agentclientprotocol"])
    await symlink(join(root, "node_modules", scope), join(project, "documentation/node_modules", scope));
  await symlink(join(root, "node_modules/@ag-ui"), join(project, "documentation/node_modules/@ag-ui"));
  // Beside the package, whose types name it.
  await symlink(join(root, "node_modules/ai"), join(project, "node_modules/ai"));
  await symlink(
    join(root, "node_modules/@statelyai"),
    join(project, "documentation/node_modules/@statelyai"),
  );
  const own = { "agents/booking.ts": booking, "providers.d.ts": PROVIDERS };
  await compile("documentation", { ...Object.fromEntries(blocks), ...own });
});

/** The providers that the repository does not install, with the types of their packages. */
const PROVIDERS = ["anthropic", "openai", "google", "amazon-bedrock"]
  .map((provider) => {
    const name = provider.replace("amazon-", "");
    const model = `import("@ai-sdk/provider").LanguageModelV3`;
    return `declare module "@ai-sdk/${provider}" { export const ${name}: (modelId: string) => ${model}; }`;
  })
  .join("\n");

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
