import type { Plan } from "@agentclientprotocol/sdk";
import * as z from "zod";
import type { Tool } from "../../runtime/agent/agent.ts";
import { defineTool } from "../../runtime/agent/definition/define.ts";

const plan = z.object({
  entries: z
    .array(
      z.object({
        content: z.string(),
        priority: z.enum(["high", "medium", "low"]).default("medium"),
        status: z.enum(["pending", "in_progress", "completed"]).default("pending"),
      }),
    )
    .max(1_000),
});

/** The name of the tool whose calls editors show as the plan of the agent. */
export const PLAN_TOOL = "update_plan";

/** The steps of a plan, as an agent gives them. */
export interface GivenPlan {
  readonly entries: {
    readonly content: string;
    readonly priority?: "high" | "medium" | "low" | undefined;
    readonly status?: "pending" | "in_progress" | "completed" | undefined;
  }[];
}

/** Says what the agent is going to do: all steps, each time. Editors show it as its plan. */
export const updatePlan: Tool<GivenPlan, string> = defineTool({
  name: PLAN_TOOL,
  description: "Shows the user the steps of the work and how far it is. Give all steps each time.",
  input: plan,
  effect: "idempotent",
  run: () => "The plan is shown.",
});

/** The plan in the arguments of a call; undefined if there is none. */
export function readPlan(args: unknown): Plan | undefined {
  return plan.safeParse(args).data;
}
