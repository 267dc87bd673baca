import type { Agent } from "troupe";
import { expect } from "vitest";
import { tasks } from "../../../src/adapters/tasks/index.ts";
import { RestartableServer } from "../restartable-server.ts";
import type { RestartableSettings } from "../restartable-server.ts";
import type { TasksOptions } from "../../../src/adapters/tasks/index.ts";
import { notFound, refusal, schemaOf } from "./schemas.ts";
import type { Artifact, ArtifactList, Step, StepList, Task, TaskList } from "./schemas.ts";

export type ServerSettings = TasksOptions & RestartableSettings;

export const ROOT = "/ap/v1/agent/tasks";

/** A server on a real socket. It checks every answer against the schemas. */
export class TestServer extends RestartableServer {
  static async start(agents: readonly Agent[], settings: ServerSettings = {}): Promise<TestServer> {
    const server = new TestServer(agents, settings, () => tasks(settings));
    await server.listen();
    return server;
  }

  /** Sends a request and checks the answer; the path is one below the tasks, or starts at the root. */
  async send(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    const whole = path.startsWith("/") && path.includes("/ap/") ? path : ROOT + path;
    const response = await fetch(this.url + whole, { ...init, method });
    if (whole.includes("/ap/v1")) await check(response.clone(), method, whole);
    return response;
  }

  get(path: string): Promise<Response> {
    return this.send("GET", path);
  }

  /** Posts a body as JSON; a text is sent as it is. */
  post(path: string, body?: unknown, init: RequestInit = {}): Promise<Response> {
    if (body === undefined) return this.send("POST", path, init);
    return this.send("POST", path, {
      headers: { "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...init,
    });
  }

  /** Uploads a file. */
  upload(taskId: string, { bytes, name, folder }: NewFile, root = ""): Promise<Response> {
    const form = new FormData();
    form.set("file", new Blob([bytes]), name);
    if (folder !== undefined) form.set("relative_path", folder);
    return this.send("POST", `${root}/${taskId}/artifacts`, { body: form });
  }

  /** What the native protocol answers. */
  async native(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.url + path, {
      method,
      ...(body !== undefined && {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    });
    return response.json();
  }

  async createTask(body?: object, root = ""): Promise<Task> {
    return ok<Task>(await this.post(root, body));
  }

  async task(taskId: string, root = ""): Promise<Task> {
    return ok<Task>(await this.get(`${root}/${taskId}`));
  }

  async step(taskId: string, body?: object, root = ""): Promise<Step> {
    return ok<Step>(await this.post(`${root}/${taskId}/steps`, body));
  }

  async tasks(query = "", root = ""): Promise<TaskList> {
    return ok<TaskList>(await this.get(root + query));
  }

  async steps(taskId: string, query = "", root = ""): Promise<StepList> {
    return ok<StepList>(await this.get(`${root}/${taskId}/steps${query}`));
  }

  async artifacts(taskId: string, query = "", root = ""): Promise<ArtifactList> {
    return ok<ArtifactList>(await this.get(`${root}/${taskId}/artifacts${query}`));
  }

  async uploaded(taskId: string, file: NewFile): Promise<Artifact> {
    return ok<Artifact>(await this.upload(taskId, file));
  }

  async bytes(taskId: string, artifactId: string): Promise<Buffer> {
    const response = await this.get(`/${taskId}/artifacts/${artifactId}`);
    return Buffer.from(await response.arrayBuffer());
  }
}

export interface NewFile {
  readonly bytes: Uint8Array<ArrayBuffer> | string;
  readonly name: string;
  readonly folder?: string;
}

/** The body of a successful answer. */
async function ok<Body>(response: Response): Promise<Body> {
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

async function check(response: Response, method: string, path: string): Promise<void> {
  const { status } = response;
  const schema = status === 200 ? schemaOf(method, path) : status === 404 ? notFound : refusal;
  if (schema === undefined) return;
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  const text = await response.text();
  if (method === "HEAD") return;
  const { error } = schema.safeParse(JSON.parse(text));
  expect(error?.message ?? "", `${method} ${path} ${status} ${text.slice(0, 500)}`).toBe("");
}
