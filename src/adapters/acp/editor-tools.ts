import type { ClientCapabilities } from "@agentclientprotocol/sdk";
import * as z from "zod";
import type { ClientTool } from "../../protocol/requests/requests.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Tool } from "../../runtime/agent/agent.ts";
import { defineTool } from "../../runtime/agent/definition/define.ts";

const path = z.string().min(1).describe("The absolute path of the file.");

/** The inputs of the tools that an editor runs, by their names. */
interface EditorInputs {
  readonly read_text_file: {
    readonly path: string;
    readonly line?: number | undefined;
    readonly limit?: number | undefined;
  };
  readonly write_text_file: { readonly path: string; readonly content: string };
  readonly run_command: {
    readonly command: string;
    readonly args?: string[] | undefined;
    readonly cwd?: string | undefined;
    readonly output_bytes?: number | undefined;
  };
}

/** The name of a tool that an editor runs. */
export type EditorTool = keyof EditorInputs;

/** The input of a tool that an editor runs. */
export type EditorInput<Name extends EditorTool> = EditorInputs[Name];

/** The schemas of the inputs. */
export const EDITOR_INPUTS: {
  readonly [Name in EditorTool]: z.ZodType<EditorInputs[Name], EditorInputs[Name]>;
} = {
  read_text_file: z.object({
    path,
    line: z.int().min(1).optional().describe("The first line to read; the first of the file is 1."),
    limit: z.int().min(1).optional().describe("How many lines to read."),
  }),
  write_text_file: z.object({ path, content: z.string() }),
  run_command: z.object({
    command: z.string().min(1).describe("The program to run in a terminal of the editor."),
    args: z.array(z.string()).optional(),
    cwd: z.string().optional().describe("The absolute path of its working directory."),
    output_bytes: z
      .int()
      .min(1)
      .max(200_000)
      .optional()
      .describe("How much of the end of its output to keep."),
  }),
};

const DESCRIPTIONS: { readonly [Name in EditorTool]: string } = {
  read_text_file: "Reads a text file as the editor has it, with changes that are not saved.",
  write_text_file: "Writes a text file through the editor, which shows the change.",
  run_command:
    "Runs a program in a terminal of the editor, waits for its end and gives its output and exit code.",
};

/** What a command gives that ran in a terminal of the editor. */
export interface CommandResult {
  readonly output: string;
  /** Whether the beginning of the output is missing. */
  readonly truncated: boolean;
  readonly exit_code: number | null;
  readonly signal: string | null;
}

/** Reads a text file of the editor. To use it, an agent calls it as any tool: `turn.tool(readTextFile, { path })`. */
export const readTextFile: Tool<EditorInput<"read_text_file">, string> = editorTool(
  "read_text_file",
  z.string(),
);

/** Writes a text file through the editor. */
export const writeTextFile: Tool<EditorInput<"write_text_file">, string> = editorTool(
  "write_text_file",
  z.string(),
);

/** Runs a program in a terminal of the editor. */
export const runCommand: Tool<EditorInput<"run_command">, CommandResult> = editorTool(
  "run_command",
  z.object({
    output: z.string(),
    truncated: z.boolean(),
    exit_code: z.number().nullable(),
    signal: z.string().nullable(),
  }),
);

/** The tools of an editor that can do what it says, for an agent whose model chooses its tools. */
export function toClientTools({ fs, terminal }: ClientCapabilities): readonly ClientTool[] {
  const names: readonly (EditorTool | false)[] = [
    fs?.readTextFile === true && "read_text_file",
    fs?.writeTextFile === true && "write_text_file",
    terminal === true && "run_command",
  ];
  return names
    .filter((name) => name !== false)
    .map((name) => ({
      name,
      description: DESCRIPTIONS[name],
      input_schema: z.toJSONSchema(EDITOR_INPUTS[name]) as JsonObject,
    }));
}

/** Whether a tool is one that an editor runs. */
export function isEditorTool(name: string): name is EditorTool {
  return Object.hasOwn(EDITOR_INPUTS, name);
}

/** A tool whose call is a question to the editor: the wait that a call of a tool of the client is too. */
function editorTool<Name extends EditorTool, Output>(
  name: Name,
  output: z.ZodType<Output>,
): Tool<EditorInput<Name>, Output> {
  return defineTool<EditorInput<Name>, EditorInput<Name>, Promise<Output>, Output>({
    name,
    description: DESCRIPTIONS[name],
    input: EDITOR_INPUTS[name],
    // It does nothing itself: what the editor does is asked once, as any question.
    effect: "idempotent",
    async run(args, turn): Promise<Output> {
      const asked = z.object({
        result: z.json().describe(`The result of ${name}`),
        is_error: z.boolean().optional(),
      });
      const answer = await turn.waitForInput(asked, { tool: { name, args: args as unknown as JsonObject } });
      if (answer.is_error === true) {
        throw new Error(typeof answer.result === "string" ? answer.result : JSON.stringify(answer.result));
      }
      return output.parse(answer.result);
    },
  });
}
