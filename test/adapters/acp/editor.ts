import { once } from "node:events";
import { readFileSync } from "node:fs";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { join, resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import type {
  ClientCapabilities,
  ClientConnection,
  RequestPermissionRequest,
  SessionUpdate,
} from "@agentclientprotocol/sdk";
import { Ajv2020 } from "ajv/dist/2020.js";
import { serveAcp } from "troupe/adapters/acp";
import type { AcpOptions } from "troupe/adapters/acp";

const folder = resolve(import.meta.dirname, "../../../node_modules/@agentclientprotocol/sdk");
const schema = JSON.parse(readFileSync(join(folder, "schema/v1/schema.json"), "utf8")) as object;
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(schema, "acp");
const frame = ajv.compile({ $ref: "acp" });
const update = ajv.compile({ $ref: "acp#/$defs/SessionNotification" });

/** How the editor of a test behaves. */
export interface EditorSettings {
  readonly capabilities?: ClientCapabilities;
  /** The id of the option that its person chooses; undefined waits until the question is taken back. */
  readonly permit?: (asked: RequestPermissionRequest, signal: AbortSignal) => Promise<string> | string;
  readonly app?: (client: acp.ClientApp) => acp.ClientApp;
}

/** An editor, made with the client of the package. Every frame that it gets is checked against the schema. */
export class Editor implements AsyncDisposable {
  readonly updates: SessionUpdate[] = [];
  readonly permissions: RequestPermissionRequest[] = [];
  readonly faults: string[] = [];
  readonly #connection: ClientConnection;
  readonly #end: () => Promise<void>;

  private constructor(stream: acp.Stream, settings: EditorSettings, end: () => Promise<void>) {
    const { permit = () => "allow", app = (client) => client } = settings;
    this.#end = end;
    const checked = stream.readable.pipeThrough(
      new TransformStream<acp.AnyMessage, acp.AnyMessage>({
        transform: (message, controller) => {
          this.#check(message);
          controller.enqueue(message);
        },
      }),
    );
    const client = acp
      .client({ name: "test" })
      .onNotification(acp.methods.client.session.update, ({ params }) => {
        this.updates.push(params.update);
      })
      .onRequest(acp.methods.client.session.requestPermission, async ({ params, signal }) => {
        this.permissions.push(params);
        return { outcome: { outcome: "selected" as const, optionId: await permit(params, signal) } };
      });
    this.#connection = app(client).connect({ readable: checked, writable: stream.writable });
  }

  /** An editor in this process. */
  static async here(options: Omit<AcpOptions, "cwd">, settings: EditorSettings = {}): Promise<Editor> {
    const toAgent = new TransformStream<Uint8Array, Uint8Array>();
    const toEditor = new TransformStream<Uint8Array, Uint8Array>();
    const served = await serveAcp(
      { cwd: "/work", ...options },
      { input: toAgent.readable, output: toEditor.writable },
    );
    const stream = acp.ndJsonStream(toAgent.writable, toEditor.readable);
    const editor = new Editor(stream, settings, async () => {
      served.close();
      await served.closed;
    });
    await editor.initialize(settings.capabilities);
    return editor;
  }

  /** An editor that starts a program. */
  static async of(
    program: string,
    args: readonly string[],
    {
      cwd,
      env = {},
      ...settings
    }: EditorSettings & { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
  ): Promise<Editor & { readonly child: ChildProcess }> {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
    const exited = once(child, "close");
    const editor = new Editor(stream, settings, async () => {
      child.stdin.end();
      await exited;
    });
    await editor.initialize(settings.capabilities);
    return Object.assign(editor, { child });
  }

  get agent(): acp.ClientContext {
    return this.#connection.agent;
  }

  async initialize(clientCapabilities: ClientCapabilities = {}): Promise<void> {
    const { initialize } = acp.methods.agent;
    await this.agent.request(initialize, { protocolVersion: 1, clientCapabilities });
  }

  async open(cwd = "/work"): Promise<string> {
    return (await this.agent.request(acp.methods.agent.session.new, { cwd, mcpServers: [] })).sessionId;
  }

  async load(sessionId: string, cwd = "/work"): Promise<void> {
    await this.agent.request(acp.methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
  }

  prompt(sessionId: string, text: string): Promise<acp.PromptResponse> {
    const prompt = [{ type: "text" as const, text }];
    return this.agent.request(acp.methods.agent.session.prompt, { sessionId, prompt });
  }

  cancel(sessionId: string): Promise<void> {
    return this.agent.notify(acp.methods.agent.session.cancel, { sessionId });
  }

  /** The texts that a speaker has said. */
  said(who: "agent" | "user" = "agent"): string {
    return this.updates
      .map((one) => {
        if (one.sessionUpdate !== "agent_message_chunk" && one.sessionUpdate !== "user_message_chunk")
          return "";
        const isSaid = one.sessionUpdate === `${who}_message_chunk`;
        return isSaid && one.content.type === "text" ? one.content.text : "";
      })
      .join("");
  }

  /** The states of the tool calls, each as a list of what was told. */
  get calls(): readonly (readonly [title: string, status: string])[] {
    const titles = new Map<string, string>();
    return this.updates.flatMap((one) => {
      if (one.sessionUpdate !== "tool_call" && one.sessionUpdate !== "tool_call_update") return [];
      const title = one.title ?? titles.get(one.toolCallId) ?? "";
      titles.set(one.toolCallId, title);
      return [[title, one.status ?? ""] as const];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.close();
    await this.#end();
    if (this.faults.length > 0) throw new Error(this.faults.join("\n"));
  }

  #check(message: acp.AnyMessage): void {
    const isValid =
      "method" in message && message.method === "session/update" ? update(message.params) : frame(message);
    if (!isValid)
      this.faults.push(`${JSON.stringify(message)}: ${ajv.errorsText(update.errors ?? frame.errors)}`);
  }
}
