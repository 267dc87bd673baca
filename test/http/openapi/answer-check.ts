import { Ajv2020 } from "ajv/dist/2020.js";

/** The parts of an OpenAPI document that answers are validated with. */
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

interface Operation {
  readonly responses: Readonly<Record<string, Answer | { readonly $ref: string }>>;
}

interface Answer {
  readonly content?: Readonly<Record<string, object>>;
}

const METHODS = ["get", "post", "delete"];

/** Validates answers against the document that describes them, and records the called operations. */
export class AnswerCheck {
  readonly document: OpenApi;
  readonly faults: string[] = [];
  readonly #schemas: Ajv2020;
  readonly #uncalled: Set<string>;

  constructor(document: OpenApi) {
    this.document = document;
    this.#schemas = new Ajv2020({ strict: false, formats: { "date-time": true } });
    this.#schemas.addSchema({ $id: "openapi", ...document });
    this.#uncalled = new Set(
      Object.entries(document.paths).flatMap(([path, item]) =>
        METHODS.filter((method) => method in item).map((method) => `${method} ${path}`),
      ),
    );
  }

  /** The operations that were not called. */
  get uncalled(): readonly string[] {
    return [...this.#uncalled];
  }

  /** Validates an answer and returns it. */
  async answer({ method, url }: Request, response: Response): Promise<Response> {
    const asked = new URL(url).pathname.replace(/^\/payments(?=\/)/, "");
    const verb = method.toLowerCase();
    const path = Object.keys(this.document.paths).find(
      (template) => toPattern(template).test(asked) && verb in (this.document.paths[template] ?? {}),
    );
    if (path === undefined) throw new Error(`${method} ${asked} is not in the document`);
    this.#uncalled.delete(`${verb} ${path}`);
    const fault = await this.#fault(`/paths/${escape(path)}/${verb}/responses`, response.clone());
    if (fault !== undefined) this.faults.push(`${method} ${url}, ${response.status}: ${fault}`);
    return response;
  }

  async #fault(pointer: string, response: Response): Promise<string | undefined> {
    const { status } = response;
    const answers = this.#at(pointer) as Operation["responses"];
    const key = [String(status), `${String(status)[0]}XX`].find((name) => name in answers);
    const answer = key === undefined ? undefined : answers[key];
    if (answer === undefined) return "the document has no such status";
    const place = "$ref" in answer ? answer.$ref.slice(1) : `${pointer}/${String(key)}`;
    const { content } = this.#at(place) as Answer;
    const type = (response.headers.get("content-type") ?? "").split(";", 1)[0] ?? "";
    if (content === undefined) return type === "" ? undefined : `has a body of type ${type}`;
    if (!(type in content) && !("*/*" in content)) return `${type} is not among its types`;
    if (!type.endsWith("json")) return undefined;
    const known = type in content ? type : "*/*";
    const validate = this.#schemas.getSchema(`openapi#${place}/content/${escape(known)}/schema`);
    const body: unknown = await response.json();
    if (validate?.(body) === true) return undefined;
    return `${JSON.stringify(body)} does not fit: ${this.#schemas.errorsText(validate?.errors)}`;
  }

  #at(pointer: string): unknown {
    return pointer
      .split("/")
      .slice(1)
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
      .reduce((value, part) => (value as Record<string, unknown>)[part], this.document as unknown);
  }
}

function escape(part: string): string {
  return part.replaceAll("~", "~0").replaceAll("/", "~1");
}

function toPattern(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`);
}
