import { AgentError } from "troupe";
import type { Receipt } from "troupe";
import type { Upload } from "../../../src/runtime/api.ts";
import type { ArtifactId, OnBusy, RequestId, RunId } from "troupe/protocol";
import type { Given } from "../../laws/model.ts";
import { MESSAGES } from "../../laws/messages.ts";
import { TALKERS } from "../../laws/talkers.ts";
import { createPrograms } from "../../laws/program.ts";
import type { Programs, Step, Steps } from "../../laws/program.ts";
import { CHARTS } from "../agents/chart.ts";
import { GUIDE, HINT } from "../agents/guide.ts";
import { Client } from "./client.ts";
import type { Invocation } from "./client.ts";
import { remotePart } from "../remote/part.ts";
import { Connection } from "./connection.ts";
import type { SimulationAccess } from "./connection.ts";
import { Reader } from "./reader.ts";
import type { Settings, ConfigVersions } from "./settings.ts";

/** A file that clients attach to requests. */
interface UploadedFile {
  readonly artifactId: ArtifactId;
  readonly content: string;
}

/** The data that all clients of a simulation share. */
export interface Shared {
  /** The program of each request. */
  readonly programs: Map<string, Programs>;
  /** The same programs by number. */
  readonly steps: Map<number, Steps>;
  /** The inputs of each request. */
  readonly given: Map<string, Given & { readonly acknowledged: ConfigVersions }>;
  readonly settings: Settings;
  /** The files that clients have uploaded for requests. */
  readonly files: UploadedFile[];
  /** The acknowledged messages, by id, with their runs. */
  readonly messages: Map<string, string>;
  readonly readers: Reader[];
  /** The number of readers. */
  readonly mostReaders: number;
  /** The number of generated requests. */
  requests: number;
  /** Runs something concurrently. */
  aside(work: Promise<unknown>): void;
}

/**
 * The actions of a client: it sends requests, in sequence or in parallel, and sometimes forks a run to try
 * again.
 */
export class ClientActions {
  readonly client: Client;
  readonly #around: SimulationAccess;
  readonly #connection: Connection;
  readonly #shared: Shared;

  constructor(around: SimulationAccess, shared: Shared) {
    this.#around = around;
    this.#shared = shared;
    this.#connection = new Connection(around);
    this.client = new Client(around, this.#connection);
  }

  /** Runs the client. */
  async live(): Promise<void> {
    const { pick } = this.#around;
    const first = await this.#turn(await this.#place());
    for (let more = pick.of([0, 0, 0, 1]); more > 0; more -= 1)
      await this.#turn(pick.chance(70) && first.agent === "root" ? first.runId : undefined);
    if (pick.chance(12)) await this.#remove(this.client.asked.at(-1)?.runId);
  }

  /** The run of the first turn: usually a new one. */
  async #place(): Promise<RunId | undefined> {
    if (!this.#around.pick.chance(15)) return undefined;
    return this.#connection.insist((runtime) => runtime.createRun("root", { key: "the-same-for-all" }));
  }

  /** Sends a request and plays it to its end, sometimes concurrently with other actions. */
  async #turn(runId: RunId | undefined): Promise<Invocation> {
    const { pick, pause } = this.#around;
    const { aside } = this.#shared;
    if (pick.chance(10)) await this.#configure(runId);
    const asked = await this.#ask(runId);
    if (asked.runId === undefined) return asked;
    this.#read(asked.runId);
    if (pick.chance(12)) aside(pause(pick.below(2_000)).then(() => this.client.cancel(asked)));
    if (pick.chance(asked.agent === GUIDE ? 80 : 30) && HEARERS.has(asked.agent))
      aside(this.#sendMessages(asked.runId, asked.agent));
    const seen = this.client.see(asked);
    if (pick.chance(65)) await seen;
    else aside(seen);
    if (pick.chance(5)) aside(this.#addTo(asked.runId));
    if (pick.chance(5)) aside(pause(pick.below(1_000)).then(() => this.#configure(undefined)));
    if (pick.chance(10) && asked.ended === true && asked.agent === "root")
      await this.#fork(asked.runId, asked);
    return asked;
  }

  async #ask(runId: RunId | undefined): Promise<Invocation> {
    const { pick } = this.#around;
    const number = (this.#shared.requests += 1);
    const requestId = `asked-${number}` as RequestId;
    const busy = pick.of(ON_BUSY);
    const file = pick.chance(8) ? await this.#file(requestId) : undefined;
    const attached = file === undefined ? {} : { attachments: [file.artifactId] };
    this.#shared.given.set(requestId, {
      partOf: remotePart,
      files: file === undefined ? [] : [file.content],
      acknowledged: this.#shared.settings.acknowledged,
    });
    const fields = {
      request_id: requestId,
      ...attached,
      ...(runId !== undefined && { run_id: runId }),
      ...(busy !== undefined && { on_busy: busy }),
    };
    if (runId === undefined && pick.chance(12))
      return this.client.ask(requestId, "machine", { type: "ChatRequest", input: requestId, ...fields });
    if (runId === undefined && pick.chance(18)) return this.#talk(requestId, fields);
    const first = number * NUMBERS_EACH;
    if (runId === undefined && pick.chance(6)) return this.#openChart(requestId, first);
    if (runId === undefined && pick.chance(6)) {
      const input = `${first} ${pick.below(3)}`;
      return this.client.ask(requestId, GUIDE, { type: "ChatRequest", input, request_id: requestId });
    }
    const asked = {
      type: "OperationRequest",
      operation: "perform",
      input: { program: first },
      ...fields,
    } as const;
    if (runId === undefined && pick.chance(6)) return this.client.ask(requestId, "remote", asked);
    const programs = createPrograms(pick, { first, most: pick.of([2, 2, 2, 3, 5]), outward: true });
    this.#shared.programs.set(requestId, programs);
    for (const [program, steps] of programs) this.#shared.steps.set(program, steps);
    return this.client.ask(requestId, "root", asked);
  }

  /** Has an actor talk with others, and sometimes a second one at the same time. */
  async #talk(requestId: RequestId, fields: object): Promise<Invocation> {
    const { pick } = this.#around;
    const talk = (id: RequestId): Promise<Invocation> =>
      this.client.ask(id, "talker", {
        type: "OperationRequest",
        operation: "talk",
        input: { program: pick.below(1_000_000), depth: pick.of([1, 2, 2, 3]) },
        ...fields,
        request_id: id,
        key: pick.of(TALKERS),
      });
    if (pick.chance(50)) {
      const number = (this.#shared.requests += 1);
      this.#shared.aside(talk(`asked-${number}`).then((asked) => this.#seeAccepted(asked)));
    }
    return talk(requestId);
  }

  /** Opens the state machine with a key, while others give it notes or abort it. */
  #openChart(requestId: RequestId, first: number): Promise<Invocation> {
    const { pick, pause } = this.#around;
    const { aside, steps } = this.#shared;
    const key = pick.of(CHARTS);
    const request = { type: "OperationRequest", key } as const;
    steps.set(first, pick.of<Steps>([[], [SLEEP], [question(first)], [SLEEP, { do: "fail" }]]));
    const send = (operation: string, number: number): Promise<void> => {
      const id: RequestId = `asked-${number}`;
      const asked = this.client.ask(id, "chart", {
        ...request,
        operation,
        input: { number },
        request_id: id,
      });
      return asked.then((one) => this.#seeAccepted(one));
    };
    for (let more = pick.below(4); more > 0; more -= 1) {
      const number = (this.#shared.requests += 1);
      const operation = pick.chance(15) ? "abort" : "note";
      aside(pause(pick.below(2_000)).then(() => send(operation, number)));
    }
    if (pick.chance(40)) {
      const number = (this.#shared.requests += 1);
      const numbers = [first + 1, first + 2];
      const given = { ...request, operation: "give", input: { key, numbers }, request_id: `asked-${number}` };
      aside(this.client.ask(`asked-${number}`, "noter", given).then((one) => this.#seeAccepted(one)));
    }
    const opened = { ...request, operation: "open", input: { program: first }, request_id: requestId };
    return this.client.ask(requestId, "chart", opened);
  }

  async #seeAccepted(asked: Invocation): Promise<void> {
    if (asked.runId !== undefined) await this.client.see(asked);
  }

  /** Configures an agent, or the run of the next turn. */
  async #configure(runId: RunId | undefined): Promise<void> {
    const { pick } = this.#around;
    const { settings } = this.#shared;
    const agent = runId === undefined ? pick.of(["root", "agent", "keeper"]) : "root";
    await settings.configure(this.#around, this.#connection, {
      agent,
      ...(runId !== undefined && { runId }),
    });
  }

  /** Sends messages to a run, some of them twice at once. */
  async #sendMessages(runId: RunId, agent: string): Promise<void> {
    const { pick, pause } = this.#around;
    const { messages } = this.#shared;
    for (let count = 1 + pick.below(4); count > 0; count -= 1) {
      await pause(pick.below(500));
      const number = (this.#shared.requests += 1);
      const message = {
        type: "Message",
        ...(agent === GUIDE
          ? { name: HINT, body: `hint ${number}` }
          : { name: pick.of(MESSAGES), body: number }),
        request_id: `message-${number}`,
        run_id: runId,
      } as const;
      const tries = pick.chance(20) ? 2 : 1;
      const send = (): Promise<Receipt | undefined> =>
        this.#connection.unlessGone((runtime) => runtime.process(agent, message));
      const receipts = await Promise.all(Array.from({ length: tries }, send));
      if (receipts.some((receipt) => receipt !== undefined)) messages.set(message.request_id, runId);
    }
  }

  /** A new file, or one of another request, which may belong to a run or be removed with it. */
  async #file(requestId: RequestId): Promise<UploadedFile> {
    const { files } = this.#shared;
    if (files.length > 0 && this.#around.pick.chance(40)) return this.#around.pick.of(files);
    const content = `the file of ${requestId}`;
    const file = { artifactId: await this.#upload(content), content };
    files.push(file);
    return file;
  }

  /** Stores a file without a run. */
  async #upload(content: string): Promise<ArtifactId> {
    const { artifactId } = await this.#connection.insist((runtime) => runtime.upload(toUpload(content)));
    return artifactId;
  }

  /** Adds a file to a run. */
  async #addTo(runId: RunId): Promise<void> {
    await this.#connection.unlessGone((runtime) => runtime.upload({ ...toUpload("one more file"), runId }));
  }

  #read(runId: RunId): void {
    const { readers, mostReaders, aside } = this.#shared;
    while (readers.length < mostReaders) {
      const reader = new Reader(this.#around, this.#connection, runId);
      readers.push(reader);
      aside(reader.follow());
    }
  }

  /** Forks a run to try again. */
  async #fork(runId: RunId, { requestId }: Invocation): Promise<void> {
    const { pick, pause, observer } = this.#around;
    const { aside } = this.#shared;
    const end = observer.requests.get(requestId)?.end;
    const after = pick.chance(70) ? (end?.id ?? 0) : 0;
    const forked = this.#connection
      .unlessGone((runtime) => runtime.fork(runId, { after }))
      .catch((error: unknown) => {
        // A request that was canceled in the queue ends inside the turn of another one.
        const isInTurn = after > 0 && end?.finish_reason === "canceled";
        if (isInTurn && error instanceof AgentError && error.code === "conflict") return undefined;
        throw error;
      });
    // Everything that the fork needs must stay, even if the source is removed before, during or after the
    // fork.
    const isRemoved = pick.chance(30);
    if (isRemoved) aside(pause(pick.of([0, 0, 10, 2_000])).then(() => this.#remove(runId)));
    const fork = await forked;
    if (fork !== undefined) await this.#turn(fork);
  }

  async #remove(runId: RunId | undefined): Promise<void> {
    if (runId === undefined) return;
    try {
      await this.#connection.unlessGone((runtime) => runtime.removeRun(runId));
    } catch (error) {
      // It is busy.
      if (!(error instanceof AgentError) || error.code !== "conflict") throw error;
    }
  }
}

function toUpload(content: string): Upload {
  const bytes = new TextEncoder().encode(content);
  async function* body(): AsyncGenerator<Uint8Array, void> {
    yield bytes;
  }
  return { name: "notes.txt", mimeType: "text/plain", body: body(), limitBytes: 1_000 };
}

/** The agents that clients send messages. */
const HEARERS: ReadonlySet<string> = new Set(["root", GUIDE]);

const SLEEP: Step = { do: "call", call: { to: "sleep", ms: 1_000 } };

/** A step that asks a person. */
function question(number: number): Step {
  return { do: "call", call: { to: "wait", key: `n${number}` } };
}

/** More numbers than the programs of one request use. */
const NUMBERS_EACH = 20;

const ON_BUSY: readonly (OnBusy | undefined)[] = [undefined, "enqueue", "enqueue", "interrupt", "reject"];
