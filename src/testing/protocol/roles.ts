/**
 * The roles of agents in the suite. An agent fills the role of its name, or the role that the caller assigns
 * to it; cases without an agent are skipped.
 *
 * - `echo` answers a chat with its input, one text per word; its operation `repeat {text, times}` writes
 *   the text that many times, one text each, and returns `{text}`.
 * - `notebook` answers with the numbered list of all chat inputs of the run.
 * - `ticker` answers the chat `N MS` with the lines 1 to N, one text each MS milliseconds.
 * - `calculator` answers `A op B` (op is one of + - * /) by calling a tool of its own, and `= value`; dividing
 *   by zero makes the tool fail, and the turn ends in success.
 * - `payments` answers `pay N to NAME` by asking for `approved` (a boolean) and then with a receipt.
 * - `interviewer` asks for two things in two waits at the same time and answers with both.
 * - `team` answers `the moon` by calling an agent that calls another; `buy a lamp for 5` calls an agent that
 *   asks for `approved`.
 * - `pdf-writer` answers `Title: text` with a PDF as an artifact.
 * - `listener` writes each message `note` (a string) as a text, until the note `end`.
 * - `room` and `member` are actors by key: `member` asks with `enter {room}` the room with that key to take it in, and
 *   returns the number of its members; `speak {room, text, afterMs?}` asks the room to tell all other members the text,
 *   after a time; `heard` returns the texts `KEY: text` that it was told; `greet {to}` waits a second, and asks the member
 *   with that key for its operation `greeting`; it succeeds also if that would deadlock.
 * - `order` is a state machine: `book {item}` asks for `confirmed` (a boolean), and then takes only `abort`, which ends it.
 * - `hurried` answers the chat `MS` by asking for `answer` (a text) for that many milliseconds, then with `got ANSWER` or
 *   with `nothing`.
 * - `stubborn` writes a text, then ignores a cancel for a minute or more.
 */
export const ROLES = [
  "echo",
  "notebook",
  "ticker",
  "calculator",
  "payments",
  "interviewer",
  "team",
  "pdf-writer",
  "listener",
  "room",
  "member",
  "order",
  "hurried",
  "stubborn",
] as const;

/** The roles of agents in the suite. */
export type AgentRole = (typeof ROLES)[number];

/** The names of agents for roles, where they differ. */
export type RoleNames = { readonly [role in AgentRole]?: string };

/** A request that makes the echo agent repeat a text. */
export function repeatRequest(text: string, times: number): Readonly<Record<string, unknown>> {
  return { type: "OperationRequest", operation: "repeat", input: { text, times } };
}
