import type { Fields, JsonObject } from "../protocol/json.ts";

/**
 * Signs what a client keeps for the server and gives back later, perhaps on another connection, to another node or after a restart.
 * The keys are in the secret store.
 */
export interface Seals {
  /** A text with the fields, at most 6 KiB of JSON, which the client can read. It is valid for the owner of this runtime alone. */
  seal(purpose: string, fields: JsonObject): Promise<string>;
  /** The fields of a text that was sealed for the purpose; `undefined` for any other text, and for that of another owner. */
  open(purpose: string, text: string): Promise<Fields | undefined>;
}
