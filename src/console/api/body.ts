import { parseJson } from "../forms/draft.ts";
import type { ShellBody } from "../parts/curl.ts";
import type { ApiOperation } from "./operations.ts";
import type { ApiBody } from "./send.ts";

/** The body of a request: the JSON text, or the file that was chosen. */
export function toBody(content: ApiOperation["body"], text: string, file: File | undefined): ApiBody {
  if (content === undefined) return undefined;
  if (content.schema !== undefined) return { type: "application/json", content: text };
  return file && { type: typeOf(file), content: file };
}

/** The same for a command in a shell. */
export function toShellBody(
  content: ApiOperation["body"],
  text: string,
  file: File | undefined,
): ShellBody | undefined {
  if (content === undefined) return undefined;
  if (content.schema !== undefined) return { type: "application/json", text: toLine(text) };
  return { type: typeOf(file), file: file?.name ?? "FILE" };
}

function typeOf(file: File | undefined): string {
  return file === undefined || file.type === "" ? "application/octet-stream" : file.type;
}

/** A JSON text on one line; a text that is no JSON stays as it is. */
function toLine(text: string): string {
  const value = parseJson(text);
  return value === undefined ? text : JSON.stringify(value);
}
