/** Sends what the client of the protocol sends, which no registry has: the same paths, headers and bodies, from its own names. */
export class Configuration {
  readonly settings: { readonly basePath: string; readonly headers?: Readonly<Record<string, string>> };

  constructor(settings: Configuration["settings"]) {
    this.settings = settings;
  }
}

interface TaskBody {
  readonly input?: string | null;
  readonly additionalInput?: object;
}

interface Task {
  readonly taskId: string;
}

interface Step extends Task {
  readonly output: string | null;
  readonly isLast: boolean;
  readonly artifacts: readonly unknown[];
}

export class AgentApi {
  readonly #settings: Configuration["settings"];

  constructor({ settings }: Configuration) {
    this.#settings = settings;
  }

  async createAgentTask({ taskRequestBody }: { readonly taskRequestBody: TaskBody }): Promise<Task> {
    const task = await this.#post("/ap/v1/agent/tasks", taskRequestBody);
    return { taskId: task["task_id"] as string };
  }

  async executeAgentTaskStep({
    taskId,
    stepRequestBody,
  }: Task & { readonly stepRequestBody: TaskBody }): Promise<Step> {
    const step = await this.#post(`/ap/v1/agent/tasks/${encodeURIComponent(taskId)}/steps`, stepRequestBody);
    // It maps the list, and fails for a step without one.
    const artifacts = (step["artifacts"] as readonly unknown[]).map((artifact) => artifact);
    const { task_id, output, is_last } = step;
    return {
      taskId: task_id as string,
      output: output as string | null,
      isLast: is_last as boolean,
      artifacts,
    };
  }

  async #post(
    path: string,
    { input, additionalInput }: TaskBody,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { basePath, headers } = this.#settings;
    const response = await fetch(basePath + path, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify({ input, additional_input: additionalInput }),
    });
    if (!response.ok) throw new Error("Response returned an error code");
    return (await response.json()) as Readonly<Record<string, unknown>>;
  }
}
