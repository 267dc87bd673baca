import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import type { AppEnv } from "./app-env.ts";
import { bodyChunks } from "./body.ts";
import { MultipartReader } from "./multipart.ts";

/** What a form must have. */
export interface FormOptions {
  /** The name of the part with the file. */
  readonly file: string;
  /** Maximum size of the file. */
  readonly limitBytes: number;
}

/** A multipart form with one file, opened at the file. */
export interface Form {
  /** The name that the client gave the file, if any. It is a text of the client, not a path. */
  readonly fileName: string | undefined;
  readonly mimeType: string;
  /** The bytes of the file; can be read once. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Reads the rest of the form, and returns its other fields: those before and those after the file. */
  fields(): Promise<ReadonlyMap<string, string>>;
}

/**
 * Opens a `multipart/form-data` body at its file, which is never held as a whole. Throws `unsupported_media_type` for
 * another body, `unprocessable` if it has no such file, and `invalid_request` if it is not well-formed.
 */
export async function readForm(c: Context<AppEnv>, { file, limitBytes }: FormOptions): Promise<Form> {
  const type = c.req.header("content-type") ?? "";
  if (!FORM_TYPE.test(type)) {
    throw new AgentError("unsupported_media_type", "the body must be multipart/form-data");
  }
  const reader = new MultipartReader(bodyChunks(c, limitBytes + REST_BYTES), type);
  const fields = new Map<string, string>();

  let part = await reader.next();
  for (; part !== undefined && part.name !== file; part = await reader.next()) {
    fields.set(part.name, await readField(reader));
  }
  if (part === undefined) {
    throw new AgentError("unprocessable", `the form has no file named ${file}`, {
      issues: [{ path: file, message: "is missing" }],
    });
  }

  return {
    fileName: part.fileName,
    mimeType: part.mimeType,
    body: readFile(reader, limitBytes),
    async fields() {
      for (let rest = await reader.next(); rest !== undefined; rest = await reader.next()) {
        if (rest.name === file) {
          throw new AgentError("unprocessable", `the form has more than one file named ${file}`);
        }
        fields.set(rest.name, await readField(reader));
      }
      return fields;
    },
  };
}

const FORM_TYPE = /^multipart\/form-data *;/i;

/** Room for the other fields of a form and for the headers of all. */
const REST_BYTES = 1_048_576;

const FIELD_LIMIT_BYTES = 65_536;

async function* readFile(reader: MultipartReader, limitBytes: number): AsyncGenerator<Uint8Array, void> {
  let sizeBytes = 0;
  for await (const piece of reader.body()) {
    sizeBytes += piece.byteLength;
    if (sizeBytes > limitBytes)
      throw new AgentError("too_large", `the file is larger than ${limitBytes} bytes`);
    yield piece;
  }
}

async function readField(reader: MultipartReader): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let sizeBytes = 0;
  for await (const piece of reader.body()) {
    sizeBytes += piece.byteLength;
    if (sizeBytes > FIELD_LIMIT_BYTES) {
      throw new AgentError("too_large", `a field of the form is larger than ${FIELD_LIMIT_BYTES} bytes`);
    }
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}
