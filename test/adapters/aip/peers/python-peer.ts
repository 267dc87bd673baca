import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";

const root = resolve(import.meta.dirname, "../../../..");
const proto = join(root, "src/adapters/aip/wire");

/** Debian's packages belong to Debian's Python. */
export const PYTHON: string = process.env["PYTHON"] ?? "/usr/bin/python3";

/** Python programs that speak AIP with stubs generated from our schema. */
export class PythonPeers implements Disposable {
  readonly #stubs = mkdtempSync(join(tmpdir(), "troupe-aip-"));
  /** Whether this machine has what the programs need. */
  readonly available: boolean;

  constructor() {
    const folders = (process.env["PATH"] ?? "").split(delimiter);
    const plugin = folders.map((folder) => join(folder, "grpc_python_plugin")).find(existsSync) ?? "";
    const out = [`--python_out=${this.#stubs}`, `--grpc_out=${this.#stubs}`];
    const args = ["-I", proto, ...out, `--plugin=protoc-gen-grpc=${plugin}`, "aip.proto"];
    const runs = [
      () => spawnSync("protoc", args, { cwd: proto }),
      () => spawnSync(PYTHON, ["-c", "import aip_pb2_grpc"], { env: this.#env }),
    ];
    this.available = plugin !== "" && runs.every((run) => run().status === 0);
  }

  start(program: string, ...args: readonly string[]): Program {
    const child = spawn(PYTHON, [join(import.meta.dirname, "python", program), ...args], {
      env: this.#env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    return new Program(child);
  }

  get #env(): NodeJS.ProcessEnv {
    return { ...process.env, PYTHONPATH: this.#stubs, PYTHONDONTWRITEBYTECODE: "1" };
  }

  [Symbol.dispose](): void {
    rmSync(this.#stubs, { recursive: true, force: true });
  }
}

export class Program implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #exit: Promise<unknown>;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#exit = once(child, "exit");
    if (child.stdout === null) throw new Error("the program has no output");
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** The next line of its output. */
  async line(): Promise<string> {
    const next = await this.#lines.next();
    if (next.done === true) throw new Error("the program has ended");
    return next.value;
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.line());
  }

  /** Ends it as a crash does. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Ends it by closing its input, and waits for its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin?.end();
    await this.#exit;
  }
}
