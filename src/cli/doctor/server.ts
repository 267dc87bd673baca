import type { ReadinessPart } from "../../ports/readiness.ts";
import type { HeldTurn, LastTurn, RunSummary } from "../../protocol/answers/status.ts";
import { findServerUrl } from "../server-url.ts";
import type { ServerUrl } from "../server-url.ts";
import { toFinding, toWarning } from "./finding.ts";
import type { Finding } from "./finding.ts";

/** Asks the server whether it is ready and takes the token, or says how to start one. */
export async function checkServer(option: string | undefined, data: string): Promise<Finding[]> {
  const subject = "server";
  let found: ServerUrl;
  try {
    found = findServerUrl(option, data);
  } catch (thrown) {
    return [toFinding(subject, thrown)];
  }
  const { url, source } = found;
  const token = process.env["TROUPE_TOKEN"] ?? "";
  const headers = {
    accept: "application/json",
    ...(token !== "" && { authorization: `Bearer ${token}` }),
  };
  const startedAt = performance.now();
  let ready: Response;
  let listed: Response;
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    ready = await fetch(`${url}/readyz`, { signal });
    listed = await fetch(`${url}/`, { signal, headers });
  } catch (cause) {
    const reason = reasonOf(cause);
    if (source === "default") return [await checkPort()];
    return [{ subject, ok: false, message: `no server answers at ${url}: ${reason}`, fix: "npx troupe dev" }];
  }
  const ms = Math.round(performance.now() - startedAt);
  const findings: Finding[] = [];
  if (!ready.ok) {
    const message = `${url} answers, but is not ready (${ready.status})`;
    findings.push({ subject, ok: false, message, fix: `curl ${url}/readyz` });
  }
  const parts = await readParts(ready);
  const held = listed.ok ? await readHeld(`${url}/runs?status=held&limit=${HELD_LIMIT}`, headers) : [];
  const others = held.length === 0 ? parts : parts.filter(({ name }) => name !== HELD);
  findings.push(...others.map((part) => toPartFinding(part)), ...toHeldFindings(held));
  if (listed.status === 401) {
    const message = token === "" ? `${url} requires a token` : `${url} refuses the token in TROUPE_TOKEN`;
    return [...findings, { subject: "token", ok: false, message, fix: "export TROUPE_TOKEN=…" }];
  }
  const agents: unknown = await listed.json().catch(() => undefined);
  if (!listed.ok || !Array.isArray(agents)) {
    const message = `something else than troupe answers at ${url} (${listed.status})`;
    return [{ subject, ok: false, message, fix: "npx troupe dev --port 4101" }];
  }
  return [
    ...findings,
    { subject, ok: true, message: `${url} answers in ${ms} ms, with ${agents.length} agents` },
  ];
}

/** The parts of the server that are not ready, as it says; none if something else answers. */
async function readParts(ready: Response): Promise<readonly ReadinessPart[]> {
  const json: unknown = await ready.json().catch(() => undefined);
  const { parts } = Object(json) as { readonly parts?: unknown };
  if (!Array.isArray(parts)) return [];
  return parts.filter(isPart).filter(({ state }) => state !== "ready");
}

function isPart(value: unknown): value is ReadinessPart {
  const { name, state, detail = "" } = Object(value) as Record<string, unknown>;
  return [name, state, detail].every((field) => typeof field === "string");
}

function toPartFinding({ name, state, detail = `it is ${state}` }: ReadinessPart): Finding {
  return { subject: name, ok: false, ...toWarning(detail) };
}

/** The subject of held turns, as the server names it. */
const HELD = "held";

/** The most held turns that are looked at. */
const HELD_LIMIT = 1_000;

/** A run whose turn is held. */
type HeldRun = RunSummary & { readonly last_turn: LastTurn & { readonly held: HeldTurn } };

async function readHeld(url: string, headers: Readonly<Record<string, string>>): Promise<readonly HeldRun[]> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  const runs: unknown = await fetch(url, { headers, signal })
    .then((answer) => answer.json())
    .catch(() => undefined);
  if (!Array.isArray(runs)) return [];
  return (runs as readonly RunSummary[]).filter((run): run is HeldRun => run.last_turn?.held !== undefined);
}

/** One finding for the turns of an agent that are held at one place. */
function toHeldFindings(runs: readonly HeldRun[]): readonly Finding[] {
  const places = Map.groupBy(runs, ({ agent, last_turn: { held } }) =>
    JSON.stringify([agent, held.code, held.at, held.at === undefined ? held.message : ""]),
  );
  return [...places.values()].map((same) => {
    const oldest = same.reduce((one, other) =>
      other.last_turn.held.since < one.last_turn.held.since ? other : one,
    );
    const { agent, run_id: runId, last_turn } = oldest;
    const { code, message, at, since } = last_turn.held;
    const turns = same.length === 1 ? "1 turn is" : `${same.length} turns are`;
    const place = at === undefined ? "" : ` at ${at}`;
    return {
      subject: HELD,
      ok: false,
      message: `${agent}: ${turns} held with ${code}${place} since ${since}, for example ${runId}\n${message}`,
      fix: `serve code that fits, and they continue; npx troupe runs end ${runId} ends this one`,
    };
  });
}

/** How long the server may take to answer. */
const ANSWER_MS = 3_000;

/** The default port has no server: it is free, or something answers there that does not speak HTTP. */
async function checkPort(): Promise<Finding> {
  const { createServer } = await import("node:net");
  const { promise, resolve } = Promise.withResolvers<NodeJS.ErrnoException | undefined>();
  const probe = createServer()
    .once("error", resolve)
    .listen({ host: "127.0.0.1", port: 4100 }, () => probe.close(() => resolve(undefined)));
  const failure = await promise;
  if (failure === undefined) {
    return { subject: "port", ok: true, message: "4100 is free; npx troupe dev serves there" };
  }
  const message = `4100 cannot be used: ${failure.code}`;
  return { subject: "port", ok: false, message, fix: "npx troupe dev --port 4101" };
}

function reasonOf(thrown: unknown): string {
  const { cause, message } = thrown as Error;
  const { code, message: inner = message } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
  return code ?? inner;
}
