import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { decode, parseEvent, toLines, withinBytes } from "../client/exchange/answer-event.ts";
import type { AnswerEvent, AnswerLimits } from "../client/exchange/answer-event.ts";
import { exchangeAgent, SILENCE_MS } from "../client/exchange/exchange-agent.ts";
import type { AskedExchange, ExchangeAgent, ExchangeOptions } from "../client/exchange/exchange-agent.ts";
import { toAskedJson } from "../client/exchange/http-agent.ts";
import { AgentError } from "../errors.ts";
import { ModelError } from "../ports/model.ts";
import type { Json } from "../protocol/json.ts";
import type { MachineOperations } from "../runtime/machine/from-machine.ts";

/** What `commandAgent` takes. */
export interface CommandAgentOptions<
  Ops extends MachineOperations = MachineOperations,
> extends ExchangeOptions<Ops> {
  /** The program, found as the system finds it. No shell reads it or its arguments. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Its directory. Default: that of this process. */
  readonly cwd?: string;
  /**
   * The names of the variables of this process that it gets, besides those that every program needs: PATH, HOME, LANG, LC_ALL,
   * TZ, TMPDIR. Default: none, so that it gets no secrets of the server.
   */
  readonly env?: readonly string[];
  /**
   * Makes its input from that of the operation; for a chat that is its text. Default: a line with the JSON
   * `{input, call_id, attempt, operation?, answers?, state?}`, where `operation` is left out for a chat.
   */
  readonly toInput?: (input: Json, asked: AskedExchange) => string | Uint8Array;
  /**
   * Reads its lines: strings are texts of the agent. Default: a line with the JSON of an event is that event, any other one is
   * a text, with its line break.
   */
  readonly toEvents?: (lines: AsyncIterable<string>) => AsyncIterable<string | AnswerEvent>;
  /** Gets each line of its stderr. Default: the stderr of this process, with the name of the agent. */
  readonly log?: (line: string) => void;
  /** The time between SIGTERM and SIGKILL when it is to end, in milliseconds. Default 2,000. */
  readonly killMs?: number;
}

/**
 * Makes an agent of a program, which is started for each request: it reads its input from stdin and writes its answer to
 * stdout. Its texts are streamed as texts of the agent, and its result is journaled: a replay does not start it again. It has
 * failed if its exit code is not 0. A cancel ends it, with the programs that it has started.
 *
 * @example
 * const counter = commandAgent({ name: "counter", purpose: "Counts words.", command: "wc", args: ["-w"], toInput: String });
 */
export function commandAgent<const Ops extends MachineOperations = Record<never, never>>(
  options: CommandAgentOptions<Ops>,
): ExchangeAgent<Ops> {
  const { name, command, args = [], cwd, toInput = toDefaultInput, toEvents = readLines } = options;
  const { silenceMs = SILENCE_MS, killMs = KILL_MS } = options;
  const { log = (line: string) => void process.stderr.write(`${name}: ${toShown(line)}\n`) } = options;
  if (typeof command !== "string" || command === "")
    throw new AgentError("invalid_request", `agent ${name} has no command`);
  const subject = `the command of agent ${name}`;

  return exchangeAgent(options, subject, async function* exchange(asked, { limits, signal }) {
    signal.throwIfAborted();
    const input = toInput(asked.input, asked);
    const program = new Program(
      spawn(command, [...args], {
        stdio: ["pipe", "pipe", "pipe"],
        // A group of its own, so that what it starts ends with it.
        detached: process.platform !== "win32",
        windowsHide: true,
        env: { ...pick(process.env, [...NEEDED, ...(options.env ?? [])]), TROUPE_CALL_ID: asked.callId },
        ...(cwd !== undefined && { cwd }),
      }),
      { killMs, silenceMs },
    );
    const end = (): void => program.end();
    signal.addEventListener("abort", end);
    try {
      program.write(input);
      program.logLines(log, limits);
      yield* toEvents(toLines(decode(withinBytes(program.output(), limits)), limits));
      const trouble = await program.trouble();
      if (trouble !== undefined) throw new ModelError(`${subject} ${trouble}`, { cause: program.cause });
    } finally {
      signal.removeEventListener("abort", end);
      program.end();
    }
  });
}

const KILL_MS = 2_000;

/** The variables that every program needs. */
const NEEDED = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SystemRoot"];

/** The input of a program that gets no other. */
function toDefaultInput(input: Json, { operation, answers, state, callId, attempt }: AskedExchange): string {
  return `${toAskedJson({ operation, input, answers, state, call_id: callId, attempt })}\n`;
}

/** A line that looks like an event is one. */
async function* readLines(lines: AsyncIterable<string>): AsyncGenerator<string | AnswerEvent, void> {
  for await (const line of lines) yield (line.startsWith("{") ? parseLine(line) : undefined) ?? `${line}\n`;
}

function parseLine(line: string): AnswerEvent | undefined {
  try {
    return parseEvent(JSON.parse(line));
  } catch {
    return undefined;
  }
}

/** A line that can do nothing to a terminal. */
function toShown(line: string): string {
  return line.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, "\uFFFD");
}

/** The longest line of stderr that is logged. */
const LOGGED_LENGTH = 2_000;

function pick(variables: NodeJS.ProcessEnv, names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(names.flatMap((name) => (name in variables ? [[name, variables[name]]] : [])));
}

/** A started program, until it and its pipes have ended. */
class Program {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #killMs: number;
  readonly #silenceMs: number;
  readonly #closed: Promise<unknown>;
  #startError: Error | undefined;
  #isSilent = false;
  /** Whether its output was read to the end. */
  #isRead = false;
  #isOver = false;
  #killTimer: NodeJS.Timeout | undefined;

  constructor(
    child: ChildProcessByStdio<Writable, Readable, Readable>,
    { killMs, silenceMs }: { readonly killMs: number; readonly silenceMs: number },
  ) {
    this.#child = child;
    this.#killMs = killMs;
    this.#silenceMs = silenceMs;
    keep(this);
    child.once("error", (error) => {
      this.#startError = error;
    });
    // A program may end without having read its input.
    child.stdin.on("error", () => {});
    this.#closed = new Promise((resolve) => {
      child.once("close", () => {
        this.#isOver = true;
        clearTimeout(this.#killTimer);
        forget(this);
        resolve(undefined);
      });
    });
  }

  /** Why it could not be started. */
  get cause(): Error | undefined {
    return this.#startError;
  }

  write(input: string | Uint8Array): void {
    this.#child.stdin.end(input);
  }

  /** What it writes to stdout. */
  async *output(): AsyncGenerator<Uint8Array, void> {
    const iterator = this.#child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    for (;;) {
      // An error of the pipe is told by how the program ended.
      const next = await this.#soon(iterator.next().catch(() => undefined));
      if (next === undefined || next.done === true) break;
      yield next.value;
    }
    this.#isRead = true;
  }

  /** Passes on the lines of stderr; the rest of a long line, and what is above the limit, is dropped. */
  logLines(log: (line: string) => void, { bytes: limit }: AnswerLimits): void {
    const { stderr } = this.#child;
    const decoder = new TextDecoder();
    let begun = "";
    let bytes = 0;
    const tell = (line: string): void => {
      try {
        log(line);
      } catch {
        // A log that fails must not end the program.
      }
    };
    stderr.on("error", () => {});
    stderr.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limit) return;
      const lines = (begun + decoder.decode(chunk, { stream: true })).split("\n");
      begun = (lines.pop() ?? "").slice(0, LOGGED_LENGTH);
      for (const line of lines) tell(line.slice(0, LOGGED_LENGTH));
    });
    stderr.on("end", () => {
      if (begun !== "") tell(begun);
    });
  }

  /** Why it failed, as the end of a sentence; `undefined` if it did not. Resolves when it has ended. */
  async trouble(): Promise<string | undefined> {
    // Code that has read enough needs the rest as little as the exit code.
    if (!this.#isRead) return undefined;
    await this.#soon(this.#closed);
    if (this.#startError !== undefined) return "cannot be started";
    if (this.#isSilent) return `sends nothing for ${this.#silenceMs} ms`;
    const { exitCode, signalCode } = this.#child;
    if (signalCode !== null) return `was ended by ${signalCode}`;
    return exitCode === 0 ? undefined : `ended with the code ${exitCode}`;
  }

  /** Ends it, with what it has started: SIGTERM first, and later SIGKILL. */
  end(): void {
    if (this.#isOver || this.#killTimer !== undefined) return;
    this.signal("SIGTERM");
    this.#killTimer = setTimeout(() => {
      this.signal("SIGKILL");
      // What is still open belongs to programs that have left the group.
      for (const pipe of [this.#child.stdout, this.#child.stderr, this.#child.stdin]) pipe.destroy();
    }, this.#killMs);
  }

  /** Waits for it. When that takes too long, it is ended. */
  async #soon<Value>(waiting: Promise<Value>): Promise<Value> {
    const timer = setTimeout(() => {
      this.#isSilent = true;
      this.end();
    }, this.#silenceMs);
    try {
      return await waiting;
    } finally {
      clearTimeout(timer);
    }
  }

  signal(name: "SIGTERM" | "SIGKILL"): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      if (process.platform === "win32") this.#child.kill(name);
      else process.kill(-pid, name);
    } catch {
      // It has ended.
    }
  }
}

/** The programs that run, which end with this process. */
const running = new Set<Program>();

function keep(program: Program): void {
  if (running.size === 0) process.on("exit", killAll);
  running.add(program);
}

function forget(program: Program): void {
  running.delete(program);
  if (running.size === 0) process.off("exit", killAll);
}

function killAll(): void {
  for (const program of running) program.signal("SIGKILL");
}
