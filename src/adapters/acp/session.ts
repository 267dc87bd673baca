import type { McpServer, PromptResponse, SessionModeState, SessionUpdate } from "@agentclientprotocol/sdk";
import type { AgentClient, Client } from "../../client/client-api.ts";
import { requestsBehind, toTurnRequest } from "../../client/requests/requests.ts";
import type { Requests, TurnBody } from "../../client/requests/requests.ts";
import { AgentError, toAgentError } from "../../errors.ts";
import type { AgentDescriptor } from "../../protocol/answers/descriptor.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { ClientTool } from "../../protocol/requests/requests.ts";
import type { TurnView, WaitView } from "../../view/run-view.ts";
import { toAnswer } from "../../view/to-answer.ts";
import { isEditorTool, toClientTools } from "./editor-tools.ts";
import { CHAT } from "../../runtime/agent/agent.ts";
import { readCommand } from "./prompt.ts";
import type { PromptCommand, EditorPrompt } from "./prompt.ts";
import { askForm, askPermission, canShowForms, permit } from "./questions.ts";
import { runEditorTool } from "./run-tool.ts";
import type { Editor } from "./run-tool.ts";
import { runKeyOf } from "./session-id.ts";
import { kindOf, UpdateProjection } from "./updates.ts";

/** The agent of a connection, and where it is. */
export interface AgentService {
  readonly client: Client;
  readonly agent: AgentClient;
  readonly descriptor: AgentDescriptor;
  readonly editor: Editor;
}

/** What a session begins with. */
export interface SessionPlace {
  readonly id: string;
  readonly cwd: string;
  /** The run, if it exists already. */
  readonly runId: RunId | undefined;
  /** The MCP servers of the editor, if the agent gets them. */
  readonly mcpServers: readonly McpServer[];
}

type StopReason = PromptResponse["stopReason"];

/**
 * A session of an editor: a run, whose events it shows as they happen. It keeps what the log need not know: the mode, and which tools
 * are always allowed.
 */
export class EditorSession {
  readonly id: string;
  readonly #service: AgentService;
  readonly #place: SessionPlace;
  readonly #projection: UpdateProjection;
  readonly #leaving = new AbortController();
  /** The prompts that have no answer yet, by their requests. */
  readonly #prompts = new Map<RequestId, PromiseWithResolvers<StopReason>>();
  /** What the editor shows already: the requests and the answers that it has sent. */
  readonly #own = new Set<RequestId | number>();
  /** The questions that the editor is asked, by their ids. */
  readonly #asked = new Map<number, AbortController>();
  /** The questions that the editor was asked and has not answered. */
  readonly #left = new Set<number>();
  readonly #allowed = new Set<string>();
  #mode: string = CHAT;
  #runId: RunId | undefined;
  #isFollowing = false;
  #sending: Promise<unknown> = Promise.resolve();

  constructor(service: AgentService, place: SessionPlace) {
    this.id = place.id;
    this.#service = service;
    this.#place = place;
    this.#runId = place.runId;
    this.#mode = this.modes?.currentModeId ?? CHAT;
    this.#projection = new UpdateProjection(({ url }) => new URL(url, `${service.client.url}/`).href);
  }

  /** Whether nothing happens in it. */
  get isIdle(): boolean {
    return this.#prompts.size === 0 && this.#projection.view.status === "idle";
  }

  /** The operations as modes; undefined if there is only one. */
  get modes(): SessionModeState | undefined {
    const { operations } = this.#service.descriptor;
    const modes = operations.map(({ name, description }) => ({ id: name, name, description }));
    const [first] = modes;
    if (first === undefined || modes.length < 2) return undefined;
    const current = modes.find(({ id }) => id === this.#mode) ?? first;
    return { currentModeId: current.id, availableModes: modes };
  }

  /** Has the prompts without a command go to another operation. */
  setMode(mode: string): void {
    const { operations, name } = this.#service.descriptor;
    if (!operations.some((operation) => operation.name === mode))
      throw new AgentError("unprocessable", `${name} has no operation ${mode}`);
    this.#mode = mode;
  }

  /** Reads the run up to now, and shows it if it is to. */
  async replay(isShown: boolean): Promise<void> {
    if (this.#runId === undefined) return;
    const { client } = this.#service;
    const signal = this.#leaving.signal;
    const show = async (events: readonly Event[]): Promise<void> => {
      const updates = this.#projection.take(events, () => false);
      if (isShown) for (const update of updates) await this.#show(update);
    };
    let page: Event[] = [];
    for await (const event of client.run(this.#runId).events({ soFar: true, signal })) {
      page.push(event);
      if (page.length < PAGE) continue;
      await show(page);
      page = [];
    }
    await show(page);
    const newest = this.#projection.view.turns.at(-1)?.operation;
    if (newest !== undefined && this.modes !== undefined) this.#setModeOf(newest);
  }

  /** Continues after a replay: shows what happens, and asks what is open. */
  resume(): void {
    this.#begin();
  }

  /** The commands of the agent: its operations and messages. */
  async showCommands(): Promise<void> {
    const { operations, messages = [] } = this.#service.descriptor;
    const commands = [
      ...operations.filter(({ name }) => name !== CHAT),
      ...messages.map(({ name }) => ({ name, description: `Sends the message ${name} to the run.` })),
    ];
    const availableCommands = commands.map(({ name, description }) => ({
      name,
      description: description === "" ? name : description,
      input: { hint: "its input as JSON" },
    }));
    await this.#show({ sessionUpdate: "available_commands_update", availableCommands });
  }

  /** Takes a prompt: it answers the oldest open question that is a text, else it is a request. Resolves with the end of its turn. */
  async prompt(prompt: EditorPrompt): Promise<StopReason> {
    const sent = this.#sending.catch(() => {}).then(() => this.#send(prompt));
    this.#sending = sent;
    const answer = await sent;
    return answer.promise;
  }

  /** Cancels what the run does. */
  async cancel(): Promise<void> {
    await this.#sending.catch(() => {});
    const open = this.#projection.view.turns.filter(({ outcome }) => outcome === undefined);
    const ids = new Set([...this.#prompts.keys(), ...open.map(({ requestId }) => requestId)]);
    for (const id of ids) {
      await this.#service.agent.cancel(id).catch((thrown: unknown) => {
        const { code } = toAgentError(thrown);
        // It has ended by itself.
        if (code !== "conflict" && code !== "not_found" && code !== "gone") throw thrown;
      });
    }
  }

  /** Stops showing the run, which goes on. */
  close(): void {
    this.#leaving.abort();
    for (const asked of this.#asked.values()) asked.abort();
    this.#fail(new AgentError("canceled", "the session was opened again, or its editor has left"));
  }

  #setModeOf(operation: string): void {
    if (this.modes?.availableModes.some(({ id }) => id === operation) === true) this.#mode = operation;
  }

  async #send({ text, files }: EditorPrompt): Promise<PromiseWithResolvers<StopReason>> {
    const { client, agent, descriptor } = this.#service;
    const question = this.#projection.view.waits.find(
      (wait) => wait.state === "open" && !this.#asked.has(wait.waitId),
    );
    if (question !== undefined) {
      const values = toAnswer(question, text);
      const answer = this.#expect(question.requestId);
      this.#own.add(question.waitId);
      this.#begin();
      try {
        await this.#unlessRefused(question.requestId, agent.answer(question, values));
      } catch (thrown) {
        this.#own.delete(question.waitId);
        throw thrown;
      }
      return answer;
    }
    const command = readCommand(text, this.#mode, descriptor);
    if (command.type === "message") return this.#tell(command);
    const attachments: string[] = [];
    for (const file of files) attachments.push((await client.upload(file)).artifactId);
    if (command.type === "operation" && command.read) return this.#read(command);
    return this.#start(command, attachments);
  }

  async #start(
    command: Exclude<PromptCommand, { readonly type: "message" }>,
    attachments: readonly string[],
  ): Promise<PromiseWithResolvers<StopReason>> {
    const { agent } = this.#service;
    const requestId = `acp-${crypto.randomUUID()}`;
    const body: TurnBody =
      command.type === "chat"
        ? { type: "ChatRequest", input: command.text }
        : { type: "OperationRequest", operation: command.name, input: command.input };
    const request = toTurnRequest(body, requestId, {
      ...this.#runOptions(),
      metadata: this.#metadata(),
      tools: this.#tools(),
      attachments,
    });
    const answer = this.#expect(requestId);
    this.#own.add(requestId);
    // The session follows the run, so nothing follows the request.
    const { runId } = await this.#unlessRefused(requestId, requestsOf(agent).begin(request));
    this.#runId = runId ?? this.#runId;
    this.#begin();
    return answer;
  }

  /** Calls an operation that only reads, which has no events. */
  async #read({
    name,
    input,
  }: Extract<PromptCommand, { readonly type: "operation" }>): Promise<PromiseWithResolvers<StopReason>> {
    const output: unknown = await this.#service.agent.call(name, input, this.#runOptions());
    const text = typeof output === "string" ? output : JSON.stringify(output ?? null);
    await this.#show({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    return ended();
  }

  async #tell({ name, body }: Extract<PromptCommand, { readonly type: "message" }>) {
    await this.#service.agent.tell(name, body, this.#runOptions());
    return ended();
  }

  #runOptions(): { readonly runId: RunId } | { readonly key: string } {
    return this.#runId === undefined ? { key: runKeyOf(this.id) } : { runId: this.#runId };
  }

  #metadata(): JsonObject {
    const { cwd, mcpServers } = this.#place;
    return { cwd, ...(mcpServers.length > 0 && { mcp_servers: mcpServers as unknown as Json }) };
  }

  /** The tools of the editor, apart from those that the agent has itself. */
  #tools(): readonly ClientTool[] {
    const { editor, descriptor } = this.#service;
    return toClientTools(editor.capabilities).filter(({ name }) => !descriptor.tools.includes(name));
  }

  #expect(requestId: RequestId): PromiseWithResolvers<StopReason> {
    const answer = this.#prompts.get(requestId) ?? Promise.withResolvers<StopReason>();
    // The prompt that waits for it gets the error.
    answer.promise.catch(() => {});
    this.#prompts.set(requestId, answer);
    return answer;
  }

  async #unlessRefused<Value>(requestId: RequestId, sent: Promise<Value>): Promise<Value> {
    try {
      return await sent;
    } catch (thrown) {
      this.#prompts.delete(requestId);
      throw thrown;
    }
  }

  #begin(): void {
    if (this.#isFollowing || this.#runId === undefined || this.#leaving.signal.aborted) return;
    this.#isFollowing = true;
    void this.#follow(this.#runId)
      .catch((thrown: unknown) => this.#fail(thrown))
      .finally(() => {
        this.#isFollowing = false;
      });
  }

  async #follow(runId: RunId): Promise<void> {
    const { client } = this.#service;
    const { signal } = this.#leaving;
    this.#askOpen();
    for await (const heard of client.run(runId).follow({ after: this.#projection.view.head, signal })) {
      if (heard.type !== "events") continue;
      await this.#take(heard.events);
      this.#askOpen();
    }
  }

  async #take(events: readonly Event[]): Promise<void> {
    for (const update of this.#projection.take(events, (id) => this.#own.has(id))) await this.#show(update);
    for (const event of events)
      if (event.type === "RequestCompleted" && event.depth === 0) this.#end(event.request_id);
  }

  #end(requestId: RequestId): void {
    const turn = this.#projection.view.turns.find((one) => one.requestId === requestId);
    const answer = this.#prompts.get(requestId);
    this.#prompts.delete(requestId);
    this.#own.delete(requestId);
    if (turn === undefined || answer === undefined) return;
    const stop = stopOf(turn);
    if (stop !== undefined) answer.resolve(stop);
    else answer.reject(new AgentError("call_failed", turn.error?.message ?? "the turn has failed"));
  }

  /** Asks the open questions that were not asked yet, and takes back those that are closed. */
  #askOpen(): void {
    const { waits, status, turns } = this.#projection.view;
    const open = waits.filter(({ state }) => state === "open");
    for (const [waitId, asked] of this.#asked) {
      if (open.some((wait) => wait.waitId === waitId)) continue;
      this.#asked.delete(waitId);
      asked.abort();
    }
    for (const wait of open) {
      if (this.#asked.has(wait.waitId) || this.#left.has(wait.waitId) || !this.#canAsk(wait)) continue;
      const asked = new AbortController();
      this.#asked.set(wait.waitId, asked);
      void this.#ask(wait, asked.signal).catch((thrown: unknown) => this.#leave(wait, thrown));
    }
    // A request that waits behind one that asks goes on when that is answered; the person must be able to do so.
    if (status !== "waiting" || this.#asked.size > 0) return;
    // The event of an answer that was given is on its way.
    if (open.some(({ waitId }) => this.#own.has(waitId))) return;
    if (turns.some(({ cancelingSince }) => cancelingSince !== undefined)) return;
    for (const answer of this.#prompts.values()) answer.resolve("end_turn");
    this.#prompts.clear();
  }

  #canAsk(wait: WaitView): boolean {
    return kindOf(wait) !== "text" || (wait.question === undefined && canShowForms(this.#service.editor));
  }

  async #ask(wait: WaitView, signal: AbortSignal): Promise<void> {
    const { editor, agent } = this.#service;
    const { waitId, tool, approval } = wait;
    const toolCallId = this.#projection.callIdOf(wait);
    const kind = kindOf(wait);
    const question = { editor, sessionId: this.id, toolCallId, wait, signal };
    let values: JsonObject | undefined;
    if (kind === "tool" && tool !== undefined && isEditorTool(tool.name)) {
      values = await runEditorTool({ ...question, name: tool.name, args: tool.args });
    } else if (kind === "permission") {
      const name = nameOf(approval);
      if (name !== undefined && this.#allowed.has(name)) values = permit(wait, true);
      else {
        const permission = await askPermission(question);
        if (permission?.always === true && name !== undefined) this.#allowed.add(name);
        values = permission?.values;
      }
    } else {
      const given = await askForm(question);
      if (given.action === "cancel") await agent.cancel(wait.requestId);
      if (given.action === "answer") values = given.values;
    }
    if (signal.aborted) return;
    if (values === undefined) return this.#leave(wait);
    // The form shows what was answered.
    if (kind === "text") this.#own.add(waitId);
    // The event of the answer takes the question away.
    await agent.answer(wait, values);
  }

  /** Leaves a question open: the next prompt answers it. */
  #leave({ waitId }: WaitView, thrown?: unknown): void {
    const asked = this.#asked.get(waitId);
    if (asked === undefined) return;
    this.#asked.delete(waitId);
    this.#left.add(waitId);
    const why = thrown === undefined || asked.signal.aborted ? "" : toAgentError(thrown).message;
    if (why !== "") void this.#show(toChunk(`${why}\n`)).catch(() => {});
    this.#askOpen();
  }

  #fail(thrown: unknown): void {
    for (const answer of this.#prompts.values()) answer.reject(thrown);
    this.#prompts.clear();
  }

  #show(update: SessionUpdate): Promise<void> {
    return this.#service.editor.context.notify("session/update", { sessionId: this.id, update });
  }
}

function requestsOf(agent: AgentClient): Requests {
  const requests = requestsBehind(agent);
  if (requests === undefined) throw new AgentError("internal", `${agent.name} has no requests`);
  return requests;
}

/** How many events are shown together when a session is loaded. */
const PAGE = 256;

function toChunk(text: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

function ended(): PromiseWithResolvers<StopReason> {
  const answer = Promise.withResolvers<StopReason>();
  answer.resolve("end_turn");
  return answer;
}

/** The name of the tool that is to be approved. */
function nameOf(approval: Json | undefined): string | undefined {
  const { tool } = (approval ?? {}) as { readonly tool?: unknown };
  return typeof tool === "string" ? tool : undefined;
}

/** Why a turn has stopped, in the words of the protocol; undefined if it has failed. */
function stopOf({ outcome, error }: TurnView): StopReason | undefined {
  if (outcome === "success") return "end_turn";
  if (outcome === "canceled") return "cancelled";
  if (error?.code === "model_refused") return "refusal";
  return error?.code === "context_overflow" ? "max_tokens" : undefined;
}
