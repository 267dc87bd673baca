import { hostname } from "node:os";
import { messageOf } from "../../errors.ts";
import { stderr, stdout, toJsonText } from "./terminal.ts";
import { ownFrames, framePlace, toThrownText } from "../thrown-text.ts";

/** What a line of the log is about, for programs that read it: run_id, request_id, agent, tool … */
export type Facts = Readonly<Record<string, unknown>>;

/** The log of a server. A line never contains control characters, so its content cannot steer a terminal. */
export interface Log {
  info(message: string, facts?: Facts): void;
  /** Logs what works less well than it could, and what to do about it. */
  warn(message: string, facts?: Facts): void;
  /** Logs a fault and the value that was thrown, the place in the user's code first. */
  fault(message: string, thrown?: unknown, facts?: Facts): void;
}

/** How lines are written: for people, or one JSON object each with the names and levels of pino. */
export type LogFormat = "text" | "json";

/** From which level on lines are written. */
export const LOG_LEVELS = ["info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A log on the console: warnings and faults on stderr, all else on stdout. */
export function createLog(format: LogFormat, level: LogLevel = "info"): Log {
  const info = createWriter((lines) => stdout.lines(lines));
  const error = createWriter((lines) => stderr.lines(lines));
  const write = format === "json" ? toJson : toLines;

  const from = LOG_LEVELS.indexOf(level);
  const isOn = (of: LogLevel): boolean => LOG_LEVELS.indexOf(of) >= from;

  return {
    info: (message, facts = {}) => {
      if (isOn("info")) info(write({ level: "info", message, ...facts }));
    },
    warn: (message, facts = {}) => {
      if (isOn("warn")) error(write({ level: "warn", message, ...facts }));
    },
    fault: (message, thrown, facts = {}) => {
      if (isOn("error")) error(write(toFault(message, thrown, facts)));
    },
  };
}

interface Line extends Facts {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  /** The place in the user's code. */
  readonly at?: string | undefined;
  readonly hint?: string;
  readonly stack?: string | undefined;
}

function toFault(message: string, thrown: unknown, facts: Facts): Line {
  const level = "error";
  if (thrown === undefined) return { level, message, ...facts };
  const stack = toThrownText(thrown);
  const [reason = ""] = messageOf(thrown).slice(0, REASON_LENGTH).split("\n", 1);
  const [first = ""] = ownFrames(stack);
  return {
    level,
    message: reason === "" ? message : `${message}: ${reason}`,
    at: framePlace(first),
    ...facts,
    stack,
  };
}

function toJson({ level, message: msg, ...facts }: Line): string {
  return toJsonText({
    level: PINO_LEVELS[level],
    time: Date.now(),
    pid: process.pid,
    hostname: HOST,
    msg,
    ...facts,
  });
}

/** The numbers that pino has for levels. */
const PINO_LEVELS = { info: 30, warn: 40, error: 50 } as const;
const HOST = hostname();

/**
 * One line with the facts that the message does not name, then the frames of the user's code, or the whole stack
 * if none of it is the user's.
 */
function toLines({ level, message, at, hint, stack, ...facts }: Line): string {
  const words = new Set(message.split(/[\s:]+/));
  const named = Object.entries(facts)
    .filter(([, value]) => !words.has(String(value)))
    .map(([name, value]) => ` ${name}=${String(value)}`);
  const place = at === undefined ? "" : ` (${at})`;
  const line = toPlain(`${new Date().toISOString()} ${level} ${message}${place}${named.join("")}`);
  const own = stack === undefined ? [] : ownFrames(stack);
  const frames = own.length > 0 ? own : (stack?.split("\n") ?? []);
  const below = [...(hint === undefined ? [] : [`hint: ${hint}`]), ...frames.map((frame) => frame.trim())];
  return [line, ...below.map((text) => `    ${toPlain(text)}`)].join("\n");
}

/** Writes the lines of one pass of the event loop together, since a write costs more than a line. */
function createWriter(write: (lines: string) => void): (line: string) => void {
  let pending: string[] = [];
  const flush = (): void => {
    if (pending.length > 0) write(pending.join("\n"));
    pending = [];
  };
  process.once("exit", flush);
  return (line) => {
    if (pending.push(line) === 1) setImmediate(flush);
  };
}

const REASON_LENGTH = 1_000;

function toPlain(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
}
