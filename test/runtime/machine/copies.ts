// Programs with XState copies of their own, bundled and minified, which are killed while a promise runs that must not run twice:
// npm run test:xstate. The versions and esbuild are installed from the registry into a temporary folder.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { rolldown } from "rolldown";

const ROOT = resolve(import.meta.dirname, "../../..");

/** What a program has done that was killed once. */
export interface CopyReport {
  /** How often its unsafe promise ran. */
  readonly charged: number;
  /** What the second process said: how the turn has ended, or why it does not start. */
  readonly end: string;
}

/** How a program gets its XState: a folder with packages, and what bundles it. */
export interface CopyOptions {
  /** A folder `node_modules` with the copy; default: that of this repository. */
  readonly packages?: string;
  readonly bundler: "rolldown" | "esbuild" | "none";
}

const PROGRAM = `
import { appendFileSync, existsSync } from "node:fs";
import { createRuntime, fromMachine } from "troupe";
import { sqliteLog } from "troupe/storage/sqlite";
import { fromCallback, fromPromise, setup } from "xstate";
const charge = async () => {
  appendFileSync("charges", "1");
  process.kill(process.pid, "SIGKILL");
};
const inner = setup({ actors: { charge: fromPromise(charge) } }).createMachine({
  initial: "charging",
  states: { charging: { invoke: { src: "charge", onDone: "done", onError: "unsure" } }, done: { type: "final" }, unsure: { type: "final" } },
  output: ({ self }) => self.getSnapshot().value,
});
const machine = setup({ actors: { inner, listen: fromCallback(() => () => {}) } }).createMachine({
  initial: "idle",
  states: {
    idle: { on: { chat: "working" } },
    working: { invoke: [{ src: "inner", onDone: "over" }, { src: "listen" }] },
    over: { type: "final" },
  },
  output: () => "over",
});
const shop = fromMachine({ name: "shop", purpose: "Charges.", machine });
const runtime = createRuntime({ agents: [shop], log: sqliteLog("log", { durability: "relaxed" }) });
await runtime.ready();
const asked = await runtime.process("shop", { type: "ChatRequest", input: "", request_id: "r" });
const page = await runtime.follow(await runtime.resolve("r"), { level: "all" });
const events = [];
for await (const { events: texts } of page.pages) for (const text of texts) events.push(JSON.parse(text));
const { finish_reason: reason } = await runtime.status("r");
console.log(reason, events.some(({ type, function_name: name }) => type === "ToolCall" && name === "charge"));
await runtime.close();
`;

/** Runs the program until it kills itself, then again until its turn has ended. */
export async function killInCharge({ packages, bundler }: CopyOptions): Promise<CopyReport> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-xstate-"));
  try {
    await mkdir(join(folder, "node_modules"));
    await symlink(ROOT, join(folder, "node_modules/troupe"));
    await symlink(
      join(packages ?? join(ROOT, "node_modules"), "xstate"),
      join(folder, "node_modules/xstate"),
    );
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    await writeFile(join(folder, "user.js"), PROGRAM);
    const program = join(folder, "program.js");
    if (bundler === "rolldown") await bundle(join(folder, "user.js"), program);
    else if (bundler === "none") await writeFile(program, PROGRAM);
    else
      execFileSync(join(packages ?? "", ".bin/esbuild"), [
        join(folder, "user.js"),
        `--outfile=${program}`,
        "--bundle",
        "--minify",
        "--format=esm",
        "--platform=node",
        "--external:troupe",
        "--log-level=error",
      ]);
    await run(folder);
    const end = await run(folder);
    return { charged: chargesOf(folder), end };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function bundle(input: string, file: string): Promise<void> {
  const build = await rolldown({ input, external: [/^troupe/, /^node:/], platform: "node" });
  await build.write({ file, format: "esm", minify: true });
  await build.close();
}

function chargesOf(folder: string): number {
  try {
    return readFileSync(join(folder, "charges"), "utf8").length;
  } catch {
    return 0;
  }
}

/** Runs the program once. Resolves with the last line of what it has said. */
async function run(folder: string): Promise<string> {
  const child = spawn(process.execPath, ["program.js"], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let [said, failed] = ["", ""];
  child.stdout.on("data", (text: Buffer) => void (said += String(text)));
  child.stderr.on("data", (text: Buffer) => void (failed += String(text)));
  await once(child, "close");
  const [refusal] = /AgentError: .*/.exec(failed) ?? [];
  return said.trim() || refusal || failed.trim();
}

/** The versions that are tried: those that are served, the newest of the older ones, and an early one. */
const VERSIONS = ["5.31.0", "5.32.0", "5.32.6", "5.33.0", "5.33.3", "5.30.0", "5.18.0"];

async function tryAll(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "troupe-copies-"));
  try {
    for (const version of VERSIONS) {
      const at = join(folder, version);
      await mkdir(at);
      await writeFile(join(at, "package.json"), "{}");
      execFileSync("npm", ["install", "--silent", "--no-audit", `xstate@${version}`, "esbuild@0.25"], {
        cwd: at,
      });
      for (const bundler of ["none", "rolldown", "esbuild"] as const) {
        const { charged, end } = await killInCharge({ packages: join(at, "node_modules"), bundler });
        const isRefused = end.includes("older than") && charged === 0;
        const isRight = isRefused || (charged === 1 && end === "success true");
        if (!isRight) process.exitCode = 1;
        process.stdout.write(
          `${isRight ? "right" : "WRONG"} ${version} ${bundler}: ${charged} charges, ${end}\n`,
        );
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await tryAll();
