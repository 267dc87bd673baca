import type { Context, Hono } from "hono";
import { AgentError, toAgentError } from "../../errors.ts";
import type { RequestId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { AnswerLinkOptions } from "../../runtime/agent/turn-api.ts";
import { ANSWER_LINKS, SIGNED_IN_PATH } from "../../runtime/agent/answer-link.ts";
import type { AnswerLinks, OpenedAnswerLink } from "../../runtime/answer-links.ts";
import type { AppEnv } from "../messages/app-env.ts";
import { readBytes, readJson } from "../messages/body.ts";
import { queryOf } from "../messages/event-query.ts";
import { replyPage, toHtml } from "../messages/html-page.ts";
import { pathIn } from "../messages/mount.ts";
import { reply, withHeaders } from "../messages/reply.ts";
import { pathParameter } from "./add-routes.ts";
import type { ServerHandlers } from "./add-routes.ts";
import { checkId } from "./event-routes.ts";
import type { Host } from "./host.ts";

/** The route that makes links. */
export function answerLinkHandlers({
  runtime,
  mount,
  bodyLimitBytes,
}: Host): ServerHandlers<"createAnswerLink"> {
  return {
    async createAnswerLink(c) {
      const { requestId, roles, ...options } = parseNewLink(await readJson(c, bodyLimitBytes));
      const own = c.get("principal")?.roles ?? [];
      const foreign = own.includes("admin") ? undefined : roles.find((role) => !own.includes(role));
      if (foreign !== undefined) {
        throw new AgentError(
          "forbidden",
          `a link cannot have the role ${JSON.stringify(foreign.slice(0, 64))}, which you do not have`,
        );
      }
      const path = await runtime.answerLinks.create(requestId, { ...options, roles });
      return reply(c, JSON.stringify({ path: mount.prefixOf(c) + path }), { status: 201 });
    },
  };
}

/**
 * Adds the pages of answer links, which work without scripts. A link is all that a person needs to open it and to answer one
 * question, so the pages work with `links` of no principal.
 */
export function addAnswerPages(app: Hono<AppEnv>, links: Omit<AnswerLinks, "create">): void {
  app.get(SIGNED_IN_PATH, async (c) => {
    const signIn = await links.signIn(stateOf(c));
    if (signIn === undefined) return notWorking();
    const owner = toHtml(signIn.owner);
    return page(
      "Use this account?",
      `<p>The agents of this server will use the account with which you have just agreed, for <strong>${owner}</strong>.</p>
<p>If you did not begin this yourself, close this page.</p>
<form method="post"><button>Use it</button></form>`,
    );
  });
  app.post(SIGNED_IN_PATH, async (c) => {
    const state = stateOf(c);
    if ((await links.signIn(state)) === undefined) return notWorking();
    await links.endSignIn(state, c.req.url);
    return page("Thank you", "<p>The agent goes on. You can close this page.</p>");
  });

  app.get(`/${ANSWER_LINKS}/:token`, async (c) => show(await links.open(pathParameter(c, "token"))));

  app.post(`/${ANSWER_LINKS}/:token`, async (c) => {
    const token = pathParameter(c, "token");
    const form = await readAnswer(c);
    const opened = await links.open(token);
    if (opened?.state !== "open") return show(opened, { status: 409 });
    if (opened.approvers) return show(opened);
    const { values, faults } = toValues(opened, form);
    if (faults.length > 0) return show(opened, { faults, form, status: 422 });
    try {
      await links.answer(token, values);
    } catch (thrown) {
      const { code, message, details } = toAgentError(thrown);
      if (code === "conflict") return show(await links.open(token), { status: 409 });
      if (code !== "unprocessable" && code !== "too_large") throw thrown;
      const issues = (details.issues ?? []).map(({ path, message: issue }) => `${path} ${issue}`);
      return show(opened, { faults: issues.length > 0 ? issues : [message], form, status: 422 });
    }
    return page("Thank you", "<p>Your answer has arrived. You can close this page.</p>");
  });
}

/** What a new link is for. */
interface NewLink extends AnswerLinkOptions {
  readonly requestId: RequestId;
  readonly waitId?: number;
  readonly roles: readonly string[];
}

function parseNewLink(body: unknown): NewLink {
  const fields = isObject(body) ? body : {};
  const { request_id: requestId, wait_id: waitId, expires_ms: expiresMs, name, roles = [], ...rest } = fields;
  const [unknown] = Object.keys(rest);
  const isList = Array.isArray(roles) && roles.every((role) => typeof role === "string");
  const isOfType = (value: unknown, type: string): boolean => value === undefined || typeof value === type;
  if (
    unknown !== undefined ||
    typeof requestId !== "string" ||
    !isList ||
    !isOfType(waitId, "number") ||
    !isOfType(expiresMs, "number") ||
    !isOfType(name, "string")
  ) {
    throw new AgentError("invalid_request", "the body does not describe an answer link", {
      hint: "its fields are request_id, wait_id, expires_ms, name and roles; only request_id is required",
    });
  }
  return {
    requestId: checkId(requestId),
    roles,
    ...(waitId !== undefined && { waitId: waitId as number }),
    ...(expiresMs !== undefined && { expiresMs: expiresMs as number }),
    ...(name !== undefined && { name: name as string }),
  };
}

/** Whether a path is that of a link, which needs nothing but the link. */
export function isAnswerLink(c: Context<AppEnv>): boolean {
  return isAnswerPath(pathIn(c));
}

/** Whether people come to a path from elsewhere, for example from their mail. */
export function isAnswerPath(path: string): boolean {
  return path.startsWith(`/${ANSWER_LINKS}/`);
}

/** What a form is shown with. */
interface Shown {
  readonly faults?: readonly string[];
  /** What was filled in before. */
  readonly form?: URLSearchParams;
  readonly status?: number;
}

function show(opened: OpenedAnswerLink | undefined, shown: Shown = {}): Promise<Response> {
  if (opened === undefined) return notWorking();
  const { state, answeredBy, agent } = opened;
  if (state === "answered") {
    const who = answeredBy === undefined ? "Someone" : toHtml(answeredBy);
    return page("Already answered", `<p>${who} has answered this question.</p>`, shown.status);
  }
  if (state === "closed") {
    return page("No longer asked", "<p>The question was closed without an answer.</p>", shown.status);
  }
  return page(`${agent} asks`, toForm(opened, shown), opened.approvers ? 403 : shown.status);
}

function notWorking(): Promise<Response> {
  return page(
    "This link does not work",
    "<p>It is not complete, it has expired, or what it was for is gone. Ask for a new one.</p>",
    404,
  );
}

/** The state with which an authorization server has led a browser here. */
function stateOf(c: Context<AppEnv>): string {
  return queryOf(c).get("state") ?? "";
}

async function page(title: string, body: string, status?: number): Promise<Response> {
  return withHeaders(await replyPage({ title, body, ...(status !== undefined && { status }) }));
}

/** A value that is asked for, and how a person gives it. */
interface Field {
  readonly name: string;
  readonly label: string;
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  readonly choices: readonly Json[];
  readonly isRequired: boolean;
}

function toFields({ questions, schema = {} }: OpenedAnswerLink): readonly Field[] {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? (schema["required"] as readonly unknown[]) : undefined;
  const names = [...new Set([...Object.keys(questions), ...Object.keys(properties)])];
  return names.map((name) => {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const asked = Object.hasOwn(questions, name) ? questions[name] : undefined;
    const described =
      isObject(property) && typeof property["description"] === "string" ? property["description"] : "";
    return {
      name,
      label: asked || described || name,
      isRequired: required === undefined ? asked !== undefined : required.includes(name),
      ...kindOf(property),
    };
  });
}

function kindOf(property: unknown): Pick<Field, "kind" | "choices"> {
  // Without a schema a person gives a text.
  if (!isObject(property)) return { kind: "text", choices: [] };
  const { type, enum: values, const: only } = property;
  if (Array.isArray(values)) return { kind: "choice", choices: values as Json[] };
  if (only !== undefined) return { kind: "choice", choices: [only as Json] };
  if (type === "string") return { kind: "text", choices: [] };
  if (type === "boolean" || type === "number" || type === "integer") return { kind: type, choices: [] };
  return { kind: "json", choices: [] };
}

function toForm(opened: OpenedAnswerLink, { faults = [], form }: Shown): string {
  const { approval } = opened;
  const call =
    approval === undefined
      ? ""
      : `<p>It wants to call <strong>${toHtml(approval.tool)}</strong> with:</p>
<pre>${toHtml(JSON.stringify(approval.args, null, 2))}</pre>\n`;
  if (opened.approvers) {
    const asked = toFields(opened).filter(({ isRequired }) => isRequired);
    return `${call}${asked.map(({ label }) => `<p>${toHtml(label)}</p>`).join("\n")}
<p>Only ${toHtml(opened.approvers.join(" or "))} may answer this question, and this link does not have that role.</p>`;
  }
  const told = faults.map((fault) => `<p class="fault" role="alert">${toHtml(fault)}</p>`).join("\n");
  const fields = toFields(opened).map((field, index) => toControl(field, `field-${index}`, form));
  return `${call}${told}
<form method="post">
${fields.join("\n")}
<button>Send the answer</button>
</form>`;
}

function toControl(field: Field, id: string, form: URLSearchParams | undefined): string {
  const { kind, choices } = field;
  const name = toHtml(field.name);
  const label = toHtml(field.label);
  const before = form?.get(field.name) ?? "";
  const needed = field.isRequired ? " required" : "";
  switch (kind) {
    case "boolean":
      return toRadios(`name="${name}"${needed}`, label, id, before, [
        ["true", "Yes"],
        ["false", "No"],
      ]);
    case "choice":
      return toRadios(
        `name="${name}"${needed}`,
        label,
        id,
        before,
        choices.map((choice, at) => [
          String(at),
          typeof choice === "string" ? choice : JSON.stringify(choice),
        ]),
      );
    case "number":
    case "integer":
      return `<label for="${id}">${label}</label>
<input type="number" id="${id}" name="${name}" value="${toHtml(before)}" step="${kind === "integer" ? "1" : "any"}"${needed}>`;
    case "text":
    case "json":
      return `<label for="${id}">${label}${kind === "json" ? " (as JSON)" : ""}</label>
<textarea id="${id}" name="${name}" rows="${kind === "json" ? 5 : 2}"${needed}>\n${toHtml(before)}</textarea>`;
    default: {
      const never: never = kind;
      return never;
    }
  }
}

/** The radio buttons of a choice; `attributes` are those that all of them have. */
function toRadios(
  attributes: string,
  label: string,
  id: string,
  before: string,
  choices: readonly (readonly [string, string])[],
): string {
  const radios = choices.map(
    ([value, text]) =>
      `<label><input type="radio" id="${id}-${value}" ${attributes} value="${value}"${value === before ? " checked" : ""}> ${toHtml(text)}</label>`,
  );
  return `<fieldset>\n<legend>${label}</legend>\n${radios.join("\n")}\n</fieldset>`;
}

/** Reads what the browser sends for the form. */
async function readAnswer(c: Context<AppEnv>): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded\b/i.test(c.req.header("content-type") ?? "")) {
    throw new AgentError("unsupported_media_type", "the answer must be sent by the form of the page");
  }
  return new URLSearchParams(new TextDecoder().decode(await readBytes(c, ANSWER_BYTES)));
}

const ANSWER_BYTES = 1_048_576;

/** The values of a form, and what is wrong with them. Whether they fit the schema is checked with the answer. */
function toValues(
  opened: OpenedAnswerLink,
  form: URLSearchParams,
): { readonly values: JsonObject; readonly faults: readonly string[] } {
  const values: Record<string, Json> = Object.create(null) as Record<string, Json>;
  const faults: string[] = [];
  for (const field of toFields(opened)) {
    const text = form.get(field.name)?.replaceAll("\r\n", "\n") ?? "";
    if (text === "" && !(field.isRequired && field.kind === "text")) {
      if (field.isRequired) faults.push(`${field.label}: an answer is needed`);
      continue;
    }
    const value = toValue(field, text);
    if (value === undefined) faults.push(`${field.label}: this is not a value of its kind`);
    else values[field.name] = value;
  }
  return { values: { ...values }, faults };
}

function toValue({ kind, choices }: Field, text: string): Json | undefined {
  switch (kind) {
    case "text":
      return text;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : undefined;
    case "number":
    case "integer":
      return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
    case "choice":
      return /^\d{1,4}$/.test(text) ? choices[Number(text)] : undefined;
    case "json":
      try {
        return JSON.parse(text) as Json;
      } catch {
        return undefined;
      }
    default: {
      const never: never = kind;
      return never;
    }
  }
}
