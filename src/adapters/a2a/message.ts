import type { Message, Part } from "@a2a-js/sdk";
import { wrongField } from "../../http/messages/wrong-field.ts";
import { isDataUrl, parseDataUrl, toMediaType } from "../../http/messages/inline-file.ts";
import type { InlineFile } from "../../http/messages/inline-file.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { GivenAnswer } from "../../view/wait-answers.ts";

/**
 * The extension by which a message that is sent twice is taken once: its id is then the identity of the task that it begins, or of the
 * answer that it gives. Without it ids say nothing, since many clients use the same for all of their messages.
 */
export const REPEATS = "urn:troupe:a2a:repeated-messages";

/** What a message says to an agent. */
export interface SaidParts {
  readonly text: string;
  /** The data parts. */
  readonly data: readonly Json[];
  /** Files inside the request. */
  readonly files: readonly InlineFile[];
  /** Files elsewhere, which nothing here opens. */
  readonly links: readonly JsonObject[];
}

/** Reads the parts of a message. */
export function readParts({ parts }: Message): SaidParts {
  if (parts.length === 0) throw wrongField("message.parts", "must have a part");
  const texts: string[] = [];
  const data: Json[] = [];
  const files: InlineFile[] = [];
  const links: JsonObject[] = [];
  for (const [index, { content, filename, mediaType }] of parts.entries()) {
    const path = `message.parts.${index}`;
    switch (content?.$case) {
      case "text":
        checkString(content.value, `${path}.text`);
        texts.push(content.value);
        break;
      case "data":
        data.push((content.value ?? null) as Json);
        break;
      case "raw":
        files.push({
          name: filename === "" ? "file" : filename,
          mimeType: toMediaType(mediaType),
          bytes: new Uint8Array(content.value),
        });
        break;
      case "url":
        checkString(content.value, `${path}.url`);
        if (isDataUrl(content.value))
          files.push({
            name: filename === "" ? "file" : filename,
            ...parseDataUrl(content.value, `${path}.url`),
          });
        else links.push({ url: content.value, filename, media_type: mediaType });
        break;
      default:
        throw wrongField(path, "must be a text, a file or data");
    }
  }
  return { text: texts.join("\n"), data, files, links };
}

/** The codec of version 0.3 does not look at the types of fields. */
export function checkString(value: unknown, path: string): void {
  if (typeof value !== "string") throw wrongField(path, "must be a string");
}

/** What a message answers: the keys of its data part, else its text. It may name the question in `metadata.wait_id`. */
export function readTaskAnswer(message: Message): GivenAnswer {
  const { text, data } = readParts(message);
  const named = [message.metadata, ...message.parts.map(({ metadata }) => metadata)].find(
    (metadata) => metadata?.["wait_id"] !== undefined,
  )?.["wait_id"] as unknown;
  if (named !== undefined && !Number.isSafeInteger(named))
    throw wrongField("message.metadata.wait_id", "must be the number of a question");
  const wait = named === undefined ? {} : { waitId: named as number };
  const [values] = data;
  if (isObject(values)) return { type: "values", values, ...wait };
  return { type: "text", text, ...wait };
}

/** A part with a text. */
export function textPart(text: string): Part {
  return { content: { $case: "text", value: text }, ...PLAIN, mediaType: "text/plain" };
}

/** A part with data. */
export function dataPart(value: Json): Part {
  return { content: { $case: "data", value }, ...PLAIN, mediaType: "application/json" };
}

/** A part with the address of a file. */
export function filePart(url: string, filename: string, mediaType: string): Part {
  return { content: { $case: "url", value: url }, metadata: undefined, filename, mediaType };
}

const PLAIN = { metadata: undefined, filename: "" };
