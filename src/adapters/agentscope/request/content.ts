import * as z from "zod";
import { jsonObject, optional } from "../../../protocol/fields.ts";
import type { Fields, JsonObject } from "../../../protocol/json.ts";
import { readFields } from "./spelling.ts";

/** A content of a request. */
export type InputContent =
  | { readonly type: "text"; readonly text?: string }
  | { readonly type: "refusal"; readonly refusal?: string }
  | { readonly type: "data"; readonly data?: JsonObject }
  | { readonly type: "image"; readonly image_url?: string }
  | { readonly type: "video"; readonly video_url?: string }
  | { readonly type: "audio"; readonly data?: string; readonly format?: string }
  | {
      readonly type: "file";
      readonly file_url?: string;
      readonly file_id?: string;
      readonly filename?: string;
      readonly file_data?: string;
    };

const text = optional(z.string());

/** Checks a content whose fields have the protocol's spelling. */
export const inputContent: z.ZodType<InputContent> = z.discriminatedUnion(
  "type",
  [
    z.object({ type: z.literal("text"), text }),
    z.object({ type: z.literal("refusal"), refusal: text }),
    z.object({ type: z.literal("data"), data: optional(jsonObject) }),
    z.object({ type: z.literal("image"), image_url: text }),
    z.object({ type: z.literal("video"), video_url: text }),
    z.object({ type: z.literal("audio"), data: text, format: text }),
    z.object({ type: z.literal("file"), file_url: text, file_id: text, filename: text, file_data: text }),
  ],
  { error: "must be text, image, data, audio, video, file or refusal" },
);

/** The fields of a content in the protocol's spelling. Its type may be in any case. */
export function readContent(item: Fields): Fields {
  const { type, file_name: name, ...fields } = readFields(item, NAMES).known;
  return {
    ...(name !== undefined && { filename: name }),
    ...fields,
    ...(type !== undefined && { type: typeof type === "string" ? type.toLowerCase() : type }),
  };
}

const NAMES = [
  "type",
  "text",
  "refusal",
  "data",
  "image_url",
  "video_url",
  "format",
  "file_url",
  "file_id",
  "filename",
  "file_name",
  "file_data",
];
