import * as z from "zod";

/** Schemas of all answers, written from the public description of the protocol: what is required, what may be null. */

const artifact = z.object({
  artifact_id: z.string().min(1),
  agent_created: z.boolean(),
  file_name: z.string().min(1),
  relative_path: z.string().nullable().optional(),
});

const step = z.object({
  step_id: z.string().min(1),
  task_id: z.string().min(1),
  status: z.enum(["created", "running", "completed"]),
  is_last: z.boolean(),
  artifacts: z.array(artifact),
  name: z.string().nullable().optional(),
  input: z.string().nullable().optional(),
  additional_input: z.record(z.string(), z.unknown()).optional(),
  output: z.string().nullable().optional(),
  additional_output: z.record(z.string(), z.unknown()).nullable().optional(),
});

const task = z.object({
  task_id: z.string().min(1),
  artifacts: z.array(artifact),
  input: z.string().nullable().optional(),
  // Not nullable: `{}` stands for none.
  additional_input: z.record(z.string(), z.unknown()),
});

const pagination = z.object({
  total_items: z.int().min(0),
  total_pages: z.int().min(0),
  current_page: z.int().min(1),
  page_size: z.int().min(1),
});

/** The schema of the answer to a route that takes or gives JSON, by its method and the last parts of its path. */
export const answers = {
  createTask: task.extend({ steps: z.array(step) }),
  getTask: task.extend({ steps: z.array(step) }),
  listTasks: z.strictObject({ tasks: z.array(task.extend({ steps: z.undefined().optional() })), pagination }),
  listSteps: z.strictObject({ steps: z.array(step), pagination }),
  step,
  listArtifacts: z.strictObject({ artifacts: z.array(artifact), pagination }),
  artifact,
} as const;

/** Every refusal; that of something unknown has nothing else. */
export const refusal: z.ZodType = z.looseObject({ message: z.string().min(1) });
export const notFound: z.ZodType = z.strictObject({ message: z.string().min(1) });

/** The schema of a successful answer; `undefined` for a file. */
export function schemaOf(method: string, path: string): z.ZodType | undefined {
  const [, rest = ""] = /\/ap\/v1\/agent\/tasks(.*)$/.exec(path.split("?", 1)[0] ?? "") ?? [];
  const [, , kind, id] = rest.split("/");
  if (kind === undefined) {
    if (rest !== "" && rest !== "/") return answers.getTask;
    return method === "POST" ? answers.createTask : answers.listTasks;
  }
  if (kind === "steps") return id === undefined && method !== "POST" ? answers.listSteps : answers.step;
  if (id !== undefined) return undefined;
  return method === "POST" ? answers.artifact : answers.listArtifacts;
}

export type Task = z.infer<typeof answers.getTask>;
export type Step = z.infer<typeof step>;
export type Artifact = z.infer<typeof artifact>;
export type TaskList = z.infer<typeof answers.listTasks>;
export type StepList = z.infer<typeof answers.listSteps>;
export type ArtifactList = z.infer<typeof answers.listArtifacts>;
