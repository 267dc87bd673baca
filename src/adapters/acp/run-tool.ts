import type {
  AgentContext,
  ClientCapabilities,
  ReadTextFileResponse,
  SessionUpdate,
} from "@agentclientprotocol/sdk";
import { messageOf } from "../../errors.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import { EDITOR_INPUTS } from "./editor-tools.ts";
import type { CommandResult, EditorInput, EditorTool } from "./editor-tools.ts";

/** The editor of a connection, and what it can do. */
export interface Editor {
  readonly context: AgentContext;
  readonly capabilities: ClientCapabilities;
}

/** A call of a tool that the editor runs. */
export interface EditorCall {
  readonly editor: Editor;
  readonly sessionId: string;
  readonly toolCallId: string;
  readonly name: EditorTool;
  readonly args: Json;
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/** Has the editor run its tool. What goes wrong is the result of the call, so that its agent can decide. */
export async function runEditorTool(call: EditorCall): Promise<JsonObject> {
  try {
    const { [call.name]: schema } = EDITOR_INPUTS;
    const input = schema.parse(call.args) as unknown;
    switch (call.name) {
      case "read_text_file":
        return { result: await readFile(call, input as EditorInput<"read_text_file">) };
      case "write_text_file":
        return { result: await writeFile(call, input as EditorInput<"write_text_file">) };
      case "run_command":
        return { result: (await runProgram(call, input as EditorInput<"run_command">)) as unknown as Json };
      default: {
        const never: never = call.name;
        return never;
      }
    }
  } catch (thrown) {
    return { result: messageOf(thrown), is_error: true };
  }
}

async function readFile(call: EditorCall, input: EditorInput<"read_text_file">): Promise<string> {
  const { editor, sessionId, signal } = call;
  if (editor.capabilities.fs?.readTextFile !== true) throw missing(call);
  const asked = { sessionId, ...input };
  const { content } = await editor.context.request<ReadTextFileResponse>("fs/read_text_file", asked, {
    cancellationSignal: signal,
    stopWaitingOnCancel: true,
  });
  return content;
}

async function writeFile(
  call: EditorCall,
  { path, content }: EditorInput<"write_text_file">,
): Promise<string> {
  const { editor, sessionId, toolCallId, signal } = call;
  if (editor.capabilities.fs?.writeTextFile !== true) throw missing(call);
  // A file that cannot be read is a new one.
  const oldText = await readFile(call, { path }).catch(() => undefined);
  if (oldText !== undefined) {
    const diff = { type: "diff" as const, path, oldText, newText: content };
    await update(call, { sessionUpdate: "tool_call_update", toolCallId, content: [diff] });
  }
  signal.throwIfAborted();
  await editor.context.request("fs/write_text_file", { sessionId, path, content });
  return `${path} is written`;
}

async function runProgram(
  call: EditorCall,
  { command, args = [], cwd, output_bytes: outputByteLimit = OUTPUT_BYTES }: EditorInput<"run_command">,
): Promise<CommandResult> {
  const { editor, sessionId, toolCallId, signal } = call;
  if (editor.capabilities.terminal !== true) throw missing(call);
  const asked = { sessionId, command, args, outputByteLimit, ...(cwd !== undefined && { cwd }) };
  const terminal = await editor.context.createTerminal(asked);
  const kill = (): void => void terminal.kill().catch(() => {});
  signal.addEventListener("abort", kill);
  try {
    if (signal.aborted) kill();
    await update(call, {
      sessionUpdate: "tool_call_update",
      toolCallId,
      content: [{ type: "terminal", terminalId: terminal.id }],
    });
    const { exitCode = null, signal: killedBy = null } = await terminal.waitForExit();
    const { output, truncated } = await terminal.currentOutput();
    return { output, truncated, exit_code: exitCode, signal: killedBy };
  } finally {
    signal.removeEventListener("abort", kill);
    await terminal.release().catch(() => {});
  }
}

const OUTPUT_BYTES = 50_000;

function update({ editor, sessionId }: EditorCall, shown: SessionUpdate): Promise<void> {
  return editor.context.notify("session/update", { sessionId, update: shown });
}

function missing({ name }: EditorCall): Error {
  return new Error(`this editor has no ${name}`);
}
