import { AgentError } from "../../../errors.ts";
import type { RunReader } from "../../../view/run-reader.ts";
import type { WaitView } from "../../../view/run-view.ts";
import { toAnswer } from "../../../view/to-answer.ts";
import { isId } from "../../../protocol/ids.ts";
import type { RequestId, RunId, ArtifactId } from "../../../protocol/ids.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { TurnRequest } from "../../../protocol/requests/requests.ts";
import type { Receipt, Runtime } from "../../../runtime/api.ts";
import { contentFiles, contentText, inOne } from "../wire/content.ts";
import { TASK } from "../wire/messages.ts";
import type { AgentMessage, ContentItem } from "../wire/messages.ts";
import { AnswerReader } from "./answer-reader.ts";
import { toRefusalLines } from "./refusal-lines.ts";
import { hashParts } from "../../../shared/sha256.ts";
import { chooseWait, readSessionState, toPrompt } from "./open-wait.ts";
import type { SessionState } from "./open-wait.ts";
import type { ContentFile } from "../wire/content.ts";

/** A message to the caller. */
export interface SessionReply {
  /** Unique among the replies of all sessions, and the same on every reading of the log. */
  readonly id: string;
  readonly taskId: string;
  /** The state of the task after this reply. */
  readonly status: number;
  readonly content: readonly ContentItem[];
}

export interface QuestOptions {
  /** Aborts when the caller is gone: then the running turn is canceled. */
  readonly gone: AbortSignal;
  /** Aborts when the server stops: the turn continues without the session. */
  readonly stopping: AbortSignal;
  /** Replies with each text instead of once. */
  readonly stream: boolean;
}

/** The turns of one session in the log: its quests are requests or answers, and its run keeps the agent's memory. */
export class SessionTurns {
  readonly #runtime: Runtime;
  readonly #first: AgentMessage;
  readonly #runs: RunReader;
  readonly #reader: AnswerReader;
  /** Whether the newest request of the run may wait for an answer. */
  #mayWait = false;
  /** Whether the log was searched for the run of the session. */
  #isFound = false;
  #runId: RunId | undefined;
  #requestId: RequestId | undefined;

  constructor(runtime: Runtime, runs: RunReader, first: AgentMessage) {
    this.#runtime = runtime;
    this.#runs = runs;
    this.#first = first;
    this.#reader = new AnswerReader(runtime, runs);
  }

  /** Gives a quest to the agent and replies with what it says. The last reply says how its turn stands. */
  async *ask(quest: AgentMessage, options: QuestOptions): AsyncGenerator<SessionReply> {
    let wait: WaitView | undefined;
    let receipt: Receipt | undefined;
    for (let isAgain = false; receipt === undefined; isAgain = true) {
      try {
        const { requestId, waits } = await this.#readStanding();
        wait = chooseWait(waits, contentText(quest.content));
        const isEmpty = quest.content.length === 0;
        if (isEmpty && this.#runId !== undefined && requestId !== undefined)
          receipt = { ...JOINED, runId: this.#runId, requestId };
        else if (wait !== undefined && requestId !== undefined)
          receipt = await this.#resume(quest, requestId, wait);
        else receipt = await this.#request(quest);
      } catch (thrown) {
        if (!(thrown instanceof AgentError) || ENDING.has(thrown.code)) throw thrown;
        // Another protocol may have made a request that waits now.
        if (thrown.code === "conflict" && !isAgain && !this.#mayWait) this.#mayWait = true;
        else {
          yield this.#toRefusal(quest, thrown, wait);
          return;
        }
      }
    }
    this.#runId = receipt.runId ?? undefined;
    yield* this.#read(quest, receipt, options);
  }

  async *#read(
    quest: AgentMessage,
    receipt: Receipt,
    { gone, stopping, stream }: QuestOptions,
  ): AsyncGenerator<SessionReply> {
    const { requestId } = receipt;
    this.#requestId = requestId;
    const cancel = (): void => {
      this.#runtime.process(this.#first.receiver_id, { type: "CancelRequest", request_id: requestId }).catch(
        // It has ended, or the runtime is closing and the turn continues after the next start.
        () => {},
      );
    };
    if (gone.aborted) cancel();
    else gone.addEventListener("abort", cancel, { once: true });
    try {
      const signal = AbortSignal.any([gone, stopping]);
      for await (const part of this.#reader.read(receipt, { stream, signal })) {
        const { eventId, status, content } = part;
        // A turn that only waits for an answer is not running: another session or wire may give the answer.
        if (status !== TASK.executing) gone.removeEventListener("abort", cancel);
        this.#mayWait = status === TASK.waiting;
        yield { id: `${requestId}_${eventId}`, taskId: taskOf(quest, requestId), status, content };
      }
    } finally {
      gone.removeEventListener("abort", cancel);
    }
  }

  /** The state of the newest request of the session's run, also of one from another protocol. */
  async #readStanding(): Promise<SessionState> {
    if (!this.#isFound) {
      this.#isFound = true;
      this.#runId = await this.#findRun();
      this.#mayWait = this.#runId !== undefined;
    }
    // A turn that has ended here has no waits.
    if (this.#runId === undefined || !this.#mayWait) return { requestId: this.#requestId, waits: [] };
    return readSessionState(this.#runs, this.#runId);
  }

  /** The run whose id is the session id, or else the run of this sender, receiver and session id. */
  async #findRun(): Promise<RunId | undefined> {
    const { receiver_id: agent, session_id: session } = this.#first;
    const address = isId(session) ? await this.#runtime.resolve(session).catch(() => undefined) : undefined;
    if (address?.kind === "run" && address.agent === agent) return address.runId;
    return this.#runtime.find(agent, await this.#key());
  }

  #key(): Promise<string> {
    const { sender_id: sender, receiver_id: agent, session_id: session } = this.#first;
    return hashParts("aip", sender, agent, session).then((hash) => `aip_${hash}`);
  }

  async #request(quest: AgentMessage): Promise<Receipt> {
    const attachments = await uploadFiles(this.#runtime, contentFiles(quest.content));
    const request: TurnRequest = {
      type: "ChatRequest",
      input: contentText(quest.content),
      ...(this.#runId === undefined ? { key: await this.#key() } : { run_id: this.#runId }),
      request_metadata: metadataOf({ ...quest, session_id: this.#first.session_id }),
      ...(attachments.length > 0 && { attachments }),
    };
    const { receiver_id: agent } = this.#first;
    if (!isId(quest.message_id)) return this.#runtime.process(agent, request);
    const named = { ...request, request_id: quest.message_id as RequestId };
    return this.#runtime.process(agent, named).catch((thrown: unknown) => {
      // Another message had this id. Message ids are short and chosen by callers who do not know each other.
      if (thrown instanceof AgentError && thrown.code === "conflict")
        return this.#runtime.process(agent, request);
      throw thrown;
    });
  }

  #resume(quest: AgentMessage, requestId: RequestId, wait: WaitView): Promise<Receipt> {
    return this.#runtime.process(this.#first.receiver_id, {
      type: "ResumeWithInput",
      request_id: requestId,
      wait_id: wait.waitId,
      request_keys: toAnswer(wait, contentText(quest.content)),
    });
  }

  /** The reply to a quest that was not accepted. A wait that it does not fit stays open and is asked again. */
  #toRefusal(
    quest: AgentMessage,
    { message, details }: AgentError,
    wait: WaitView | undefined,
  ): SessionReply {
    const prompt = wait === undefined ? [] : [toPrompt(wait)];
    return {
      id: `${quest.message_id}_refused`,
      taskId: taskOf(quest, this.#requestId ?? ""),
      status: wait === undefined ? TASK.broken : TASK.waiting,
      content: [{ text: [...toRefusalLines(message, details), ...prompt].join("\n") }],
    };
  }
}

/** Errors after which the session cannot continue. */
const ENDING: ReadonlySet<string> = new Set(["internal", "unavailable", "gone", "not_found", "timeout"]);

/** The receipt of a quest without content: it asks how the latest request of its run stands. */
const JOINED = { kind: "turn", replayed: true, after: 0 } as const;

function metadataOf({ sender_id, session_id, task_info: task }: AgentMessage): JsonObject {
  const { task_id = "", parent_task_ids = [] } = task ?? {};
  return {
    aip: {
      sender_id,
      session_id,
      ...(task_id !== "" && { task_id }),
      ...(parent_task_ids.length > 0 && { parent_task_ids }),
    },
  };
}

function taskOf({ task_info: task }: AgentMessage, requestId: string): string {
  return task?.task_id === undefined || task.task_id === "" ? requestId : task.task_id;
}

/** Stores the files of a message, so that a request can have them as attachments. */
async function uploadFiles(runtime: Runtime, files: readonly ContentFile[]): Promise<readonly ArtifactId[]> {
  const ids: ArtifactId[] = [];
  for (const [index, { kind, mimeType, bytes }] of files.entries()) {
    const name = `${kind}-${index + 1}`;
    const file = { name, mimeType, limitBytes: bytes.length, body: inOne(bytes) };
    const { artifactId } = await runtime.upload(file);
    ids.push(artifactId);
  }
  return ids;
}
