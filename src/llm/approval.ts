import { AgentError } from "../errors.ts";
import { isObject } from "../protocol/json.ts";
import type { Json, JsonObject } from "../protocol/json.ts";
import type { Schema } from "../runtime/agent/agent.ts";
import { toApprovers } from "../runtime/agent/approvers.ts";
import { handwrittenSchema } from "../runtime/agent/definition/handwritten-schema.ts";

/** Which calls of a model a human must approve: those of these tools, or those for which a function says so. */
export type Approvals = readonly string[] | { readonly [tool: string]: true | ApprovalRule | ApprovalBy };

/** Who must approve the calls of a tool. */
export interface ApprovalBy {
  /** The roles that may approve. */
  readonly approvers: readonly string[];
  /** Which calls. Default: all. */
  readonly when?: ApprovalRule;
}

/**
 * Whether a human must approve a call with these arguments, which are those that the tool gets: parsed, with the defaults
 * of its schema. It must be pure, because it runs again after a crash. If it throws, the human is asked.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- The type of the arguments is that of the named tool.
export type ApprovalRule = (args: any) => boolean;

/** The rules by the name of the tool. */
export type ApprovalRules = ReadonlyMap<string, ToolApproval>;

/** Which calls of a tool a human must approve, and who may. */
export interface ToolApproval {
  readonly when: ApprovalRule;
  readonly approvers?: readonly string[];
}

/** A human's decision about a call. */
export interface Decision {
  readonly approved: boolean;
  /** Why, for the model. */
  readonly reason?: string;
  /** Other arguments for the call. */
  readonly args?: Json;
}

/** Collects the rules of an agent. */
export function toRules(names: readonly string[], approve: Approvals, agentName: string): ApprovalRules {
  const rules = new Map<string, ToolApproval>(names.map((name) => [name, { when: always }]));
  const entries: readonly (readonly [string, unknown])[] = Array.isArray(approve)
    ? (approve as readonly string[]).map((name) => [name, true])
    : Object.entries(approve);
  for (const [name, rule] of entries) {
    const approval = toApproval(rule);
    if (approval === undefined)
      throw new AgentError("invalid_request", `approve.${name} of agent ${agentName} is no rule`, {
        hint: "use true, a function of the tool's arguments that returns whether a human must approve the call, or { approvers: [role, …], when }",
      });
    rules.set(name, approval);
  }
  return rules;
}

/** A rule as a definition gives it; `undefined` if it is none. */
function toApproval(rule: unknown): ToolApproval | undefined {
  if (rule === true) return { when: always };
  if (typeof rule === "function") return { when: rule as ApprovalRule };
  if (!isObject(rule)) return undefined;
  const { approvers: given, when = always, ...rest } = rule;
  if (given === undefined || typeof when !== "function" || Object.keys(rest).length > 0) return undefined;
  try {
    const approvers = toApprovers(given as readonly string[]);
    return { when: when as ApprovalRule, ...(approvers && { approvers }) };
  } catch {
    return undefined;
  }
}

/** Whether a call needs an approval. */
export function mustAsk({ when }: ToolApproval, args: unknown): boolean {
  try {
    return when(args);
  } catch {
    return true;
  }
}

/** A call whose arguments a human may change: their schema, also as JSON Schema. */
interface EditableCall {
  readonly input: Schema<unknown>;
  readonly args: JsonObject;
}

/** The schema of a decision. Only `approved` is required, so that every client can answer `{approved: true}`. */
export function decisionSchema(question: string, call?: EditableCall): Schema<Decision> {
  const { description: _, ...schema } = call?.args ?? {};
  const properties = {
    approved: { type: "boolean", description: question },
    reason: { type: "string", description: "Why, for the model." },
    ...(call && { args: { ...schema, description: "Other arguments for the call." } }),
  };
  return handwrittenSchema(
    async (value) => {
      if (!isObject(value)) return toIssue([], "must be an object");
      const { approved, reason, args: edited } = value;
      if (typeof approved !== "boolean") return toIssue(["approved"], "must be true or false");
      if (reason !== undefined && typeof reason !== "string") return toIssue(["reason"], "must be a text");
      if (edited !== undefined) {
        if (call === undefined) return toIssue(["args"], "there is no call");
        const { issues } = await call.input["~standard"].validate(structuredClone(edited));
        if (issues)
          return { issues: issues.map(({ message, path = [] }) => ({ message, path: ["args", ...path] })) };
      }
      return {
        value: {
          approved,
          ...(reason !== undefined && { reason }),
          ...(edited !== undefined && { args: edited as Json }),
        },
      };
    },
    { type: "object", properties, required: ["approved"] },
  );
}

/** What the model reads of a declined call. */
export function declinedResult({ reason }: Decision): string {
  const why = reason === undefined ? "" : `: ${reason}`;
  return `declined: the user does not want this call${why}`;
}

/** What the model reads of an approval before the result of the call. */
export function toNote({ reason, args }: Decision): string {
  const edit = args === undefined ? "" : `The user changed the arguments to ${JSON.stringify(args)}.\n`;
  return reason === undefined ? edit : `${edit}The user says: ${reason}\n`;
}

const always: ApprovalRule = () => true;

function toIssue(path: readonly string[], message: string) {
  return { issues: [{ message, path: [...path] }] };
}
