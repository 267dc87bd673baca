import { AgentError } from "../../errors.ts";
import type { Environment } from "../../ports/environment.ts";
import type { EventLog } from "../../ports/event-log.ts";
import { DEFAULT_OWNER, ownerOf } from "../../ports/principal.ts";
import type { By } from "../../protocol/actors.ts";
import type { Event, EventOf } from "../../protocol/events/events.ts";
import type { CallId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Fields, JsonObject } from "../../protocol/json.ts";
import { sha256 } from "../../shared/sha256.ts";
import type { Scope } from "../access/scope.ts";
import { LINK_PURPOSE, SIGN_IN_PURPOSE, toAnswerLink } from "../agent/answer-link.ts";
import { mayAnswer } from "../agent/approvers.ts";
import type { LinkedWait } from "../agent/answer-link.ts";
import type { AnswerLinks, OpenedAnswerLink } from "../answer-links.ts";
import type { Receipt } from "../api.ts";
import { isOwnAnswer } from "./acknowledge.ts";
import type { TextSigner } from "../secrets/text-signer.ts";
import { readWaits } from "./lists.ts";
import type { Queries } from "./queries.ts";

/** What answer links need. */
export interface AnswerLinksOptions {
  readonly log: EventLog;
  readonly environment: Environment;
  readonly signer: TextSigner;
  readonly queries: Queries;
  /** Whose questions get links. The holder of a link may answer. */
  readonly scope: Scope;
  /** Throws unless the caller may answer the questions of a run. */
  permit(runId: RunId): Promise<unknown>;
  /** Delivers an answer. */
  answer(answer: NamedAnswer): Promise<Receipt>;
}

/** An answer to one wait. */
interface NamedAnswer {
  readonly runId: RunId;
  readonly requestId: RequestId;
  readonly waitId: number;
  readonly values: JsonObject;
  /** The id of the answer, from which `toAnswerer` reads who has given it. */
  readonly resumeId: string;
  readonly by: By;
  readonly roles: readonly string[];
}

/** Creates the links of a runtime. */
export function createAnswerLinks({
  log,
  environment,
  signer,
  queries,
  scope,
  permit,
  answer,
}: AnswerLinksOptions): AnswerLinks {
  async function read(token: string): Promise<OpenLink | undefined> {
    const fields = token.length <= TOKEN_LENGTH ? await signer.read(LINK_PURPOSE, token) : undefined;
    return fields && environment.now() < Number(fields["until"]) ? toLinked(fields) : undefined;
  }

  /** The open wait of a link. */
  async function findOpen({
    runId,
    requestId,
    callId,
  }: LinkedWait): Promise<EventOf<"WaitForInput"> | undefined> {
    let cursor: string | undefined;
    do {
      const page = await readWaits(log, {
        runId,
        limit: PAGE,
        ...(cursor !== undefined && { cursor }),
      });
      for (const text of page.events) {
        const event = JSON.parse(text) as EventOf<"WaitForInput">;
        if (event.request_id === requestId && event.call_id === callId) return event;
      }
      cursor = page.next;
    } while (cursor !== undefined);
    return undefined;
  }

  /** The wait of a link after its end, and the answer, if it had one. */
  async function findPast(
    link: LinkedWait,
  ): Promise<readonly [EventOf<"WaitForInput">, string | undefined] | undefined> {
    const owner = ownerOf((await log.run(link.runId)) ?? {});
    const address = await queries.resolve(link.requestId, { owner, seesAll: false });
    let asked: EventOf<"WaitForInput"> | undefined;
    let after = 0;
    for (;;) {
      const page = await queries.read(address, {
        after,
        filter: { types: ["WaitForInput", "ResumeWithInput"] },
      });
      for (const text of page.events) {
        const event = JSON.parse(text) as Event;
        if (event.type === "WaitForInput" && event.call_id === link.callId) asked = event;
        if (event.type === "ResumeWithInput" && event.wait_id === asked?.id)
          return [asked, event.resume_id ?? ""];
      }
      if (!page.more) return asked && [asked, undefined];
      after = page.cursor;
    }
  }

  async function open(token: string): Promise<OpenedAnswerLink | undefined> {
    const link = await read(token);
    if (link === undefined) return undefined;
    const asked = await findOpen(link);
    if (asked !== undefined) return toOpened(asked, "open", link.roles);
    const past = await findPast(link).catch((thrown: unknown) => {
      // The run was removed, and with it what was asked.
      if (thrown instanceof AgentError && (thrown.code === "gone" || thrown.code === "not_found"))
        return undefined;
      throw thrown;
    });
    if (past === undefined) return undefined;
    const [event, resumeId] = past;
    const by = resumeId === undefined ? undefined : toAnswerer(resumeId);
    return {
      ...toOpened(event, resumeId === undefined ? "closed" : "answered", link.roles),
      ...(by !== undefined && { answeredBy: by }),
    };
  }

  /** The questions of a sign-in, by its state. The search costs much, so it is made only for a state that this server has signed. */
  async function findSignIn(
    state: string,
  ): Promise<{ readonly owner: string; readonly waits: readonly EventOf<"WaitForInput">[] } | undefined> {
    const fields = state.length <= TOKEN_LENGTH ? await signer.read(SIGN_IN_PURPOSE, state) : undefined;
    if (fields === undefined || environment.now() >= Number(fields["until"])) return undefined;
    const waits: EventOf<"WaitForInput">[] = [];
    let cursor: string | undefined;
    do {
      const page = await readWaits(log, { limit: WAITS, ...(cursor !== undefined && { cursor }) });
      for (const text of page.events) {
        if (!text.includes(state)) continue;
        const event = JSON.parse(text) as EventOf<"WaitForInput">;
        if (event.request_keys["address"]?.includes(`state=${state}`) === true) waits.push(event);
      }
      cursor = page.next;
    } while (cursor !== undefined);
    return waits.length === 0 ? undefined : { owner: String(fields["owner"]), waits };
  }

  return {
    open,
    async signIn(state) {
      const found = await findSignIn(state);
      return found && { owner: found.owner };
    },
    async endSignIn(state, address) {
      const { waits } = (await findSignIn(state)) ?? {};
      if (waits === undefined) throw new AgentError("conflict", "the sign-in is over, or has expired");
      const hash = (await sha256(address)).slice(0, 16);
      for (const { id, run_id: runId, request_id: requestId } of waits)
        await answer({
          runId,
          requestId,
          waitId: id,
          values: { address },
          resumeId: `${LINK}${hash}.`,
          by: { id: "sign-in" },
          roles: [],
        });
    },
    async create(requestId, { waitId, ...options } = {}) {
      const { runId, owner = DEFAULT_OWNER } = await queries.request(requestId, scope);
      await permit(runId);
      const page = await readWaits(log, { runId, limit: PAGE });
      const asked = page.events
        .map((text) => JSON.parse(text) as EventOf<"WaitForInput">)
        .find((event) => event.request_id === requestId && (waitId === undefined || event.id === waitId));
      if (asked === undefined) {
        throw new AgentError("conflict", `the request ${requestId} has no such open question`, {
          hint: "troupe waits lists the open questions",
        });
      }
      if (scope.by !== undefined)
        await log.audit.add([
          { at: environment.now(), action: "link", by: scope.by, owner, runId, requestId, event: asked.id },
        ]);
      return toAnswerLink(signer, { runId, requestId, callId: asked.call_id }, options, environment.now());
    },
    async answer(token, values) {
      const link = await read(token);
      const asked = link && (await findOpen(link));
      if (link === undefined || asked === undefined) {
        throw new AgentError("conflict", "the question is closed, or the link does not work any more");
      }
      // The same values from the same link are one answer, however often a browser sends them.
      const hash = (await sha256(`${token}\n${JSON.stringify(values)}`)).slice(0, 16);
      const resumeId = `${LINK}${hash}.${toHex(link.name ?? "")}`;
      const receipt = await answer({
        runId: link.runId,
        requestId: link.requestId,
        waitId: asked.id,
        values,
        resumeId,
        by: { id: "link", ...(link.name !== undefined && { name: link.name }) },
        roles: link.roles,
      });
      // An equal answer of somebody else, who was faster, is replayed.
      if (!isOwnAnswer(receipt, resumeId))
        throw new AgentError("conflict", "somebody else has answered the question");
    },
  };
}

/** The wait of a link, and who holds it. */
interface OpenLink extends LinkedWait {
  readonly name?: string;
  readonly roles: readonly string[];
}

const PAGE = 100;
const WAITS = 1_000;
const TOKEN_LENGTH = 8_192;

/** How the ids of answers that come by a link begin. */
const LINK = "link.";

/** The name in the id of an answer that came by a link. */
function toAnswerer(resumeId: string): string | undefined {
  const hex = /^link\.[\w-]{16}\.([0-9a-f]{2,96})$/.exec(resumeId)?.[1];
  if (hex === undefined) return undefined;
  const bytes = Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return new TextDecoder().decode(bytes);
}

function toHex(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function toOpened(
  { agent, request_keys: questions, schema, approval, approvers }: EventOf<"WaitForInput">,
  state: OpenedAnswerLink["state"],
  roles: readonly string[],
): OpenedAnswerLink {
  const isForOthers = !mayAnswer(approvers, { by: { id: "link" }, roles });
  return {
    agent,
    state,
    questions,
    ...(schema && { schema }),
    ...(approval && { approval }),
    ...(isForOthers && approvers && { approvers }),
  };
}

/** Only this file makes what the signature covers. */
function toLinked(fields: Fields): OpenLink {
  const { run, request, call, name } = fields as { readonly [field: string]: string };
  return {
    runId: run as RunId,
    requestId: request as RequestId,
    callId: call as CallId,
    roles: (fields["roles"] ?? []) as readonly string[],
    ...(name !== undefined && { name }),
  };
}
