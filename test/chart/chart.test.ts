/** @module-tag long */
import { execFile, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { Ajv } from "ajv";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments, parse } from "yaml";
import { createProgram } from "../../src/cli/program.ts";
import { skipWithoutGo } from "../machine/skip-without.ts";

type Tree = Readonly<Record<string, unknown>>;

const ROOT = resolve(import.meta.dirname, "../..");
const CHART = join(ROOT, "deploy/helm/troupe");
const read = (name: string): string => readFileSync(join(CHART, name), "utf8");
const DEFAULTS = parse(read("values.yaml")) as Tree;
const isValid = new Ajv({ strict: true, allowUnionTypes: true }).compile(
  JSON.parse(read("values.schema.json")) as Tree,
);
const GIVEN = { image: "registry.example/agents:1", secret: "troupe" };

test("the values of the chart have a schema, which names each of them and refuses what the chart sets itself", () => {
  expect(isValid({ ...DEFAULTS, ...GIVEN })).toBe(true);
  const { properties } = JSON.parse(read("values.schema.json")) as { readonly properties: Tree };
  expect(Object.keys(DEFAULTS).toSorted()).toEqual(
    Object.keys(properties)
      .filter((name) => name !== "global")
      .toSorted(),
  );
  const wrong: readonly Tree[] = [
    {},
    { image: "" },
    { nodes: 0 },
    { nodes: "3" },
    { drainSeconds: 601 },
    { args: ["--host=1.2.3.4"] },
    { args: ["--single"] },
    { replicas: 3 },
    { service: { port: 0 } },
  ];
  expect(
    wrong.filter((values) => isValid({ ...DEFAULTS, ...(values === wrong[0] ? {} : GIVEN), ...values })),
  ).toEqual([]);
});

describe("rendered by the template engine of Go", () => {
  let folder = "";
  let program = "";

  beforeAll(() => {
    if (spawnSync("go", ["version"]).status !== 0) return;
    folder = mkdtempSync(join(tmpdir(), "troupe-chart-"));
    program = join(folder, "render");
    const env = { ...process.env, GO111MODULE: "off", GOPATH: "/usr/share/gocode", GOFLAGS: "" };
    const built = spawnSync("go", ["build", "-o", program, join(import.meta.dirname, "render.go")], { env });
    if (built.status !== 0) program = "";
  }, 300_000);
  afterAll(() => {
    if (folder !== "") rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(({ skip }) => {
    if (program === "") skipWithoutGo(skip);
  });

  const render = async (values: Tree): Promise<Readonly<Record<string, string>>> => {
    const run = promisify(execFile)(program, [CHART]);
    const chart = parse(read("Chart.yaml")) as Readonly<Record<string, string>>;
    run.child.stdin?.end(
      JSON.stringify({
        Values: { ...DEFAULTS, ...values },
        // Helm gives the fields of a chart with capital letters.
        Chart: { Name: chart["name"], Version: chart["version"], AppVersion: chart["appVersion"] },
        Release: { Name: "agents", Service: "Helm", Namespace: "default" },
      }),
    );
    return JSON.parse((await run).stdout) as Readonly<Record<string, string>>;
  };
  const renderObjects = async (values: Tree): Promise<readonly Tree[]> => {
    const files = Object.entries(await render(values)).filter(([name]) => name.endsWith(".yaml"));
    return files.flatMap(([, text]) =>
      parseAllDocuments(text).flatMap((document) => {
        expect(document.errors).toEqual([]);
        const object = document.toJS() as Tree | null;
        return object === null ? [] : [object];
      }),
    );
  };

  const FULL = {
    ...GIVEN,
    nodes: 5,
    args: ["--retain-days=30", "--trust-proxy"],
    env: { TROUPE_PRICES: "/app/prices.json", NODE_OPTIONS: "--max-old-space-size=768", COUNT: 3 },
    allowedHosts: ["agents.example.com"],
    service: { type: "LoadBalancer", port: 8080, annotations: { "example.com/name": "agents" } },
    podAnnotations: { "prometheus.io/scrape": "true" },
    nodeSelector: { disk: "fast" },
    tolerations: [{ key: "agents", operator: "Exists" }],
    imagePullSecrets: [{ name: "registry" }],
    drainSeconds: 12.5,
  };
  const ONE = { ...GIVEN, nodes: 1, networkPolicy: false, resources: {} };

  test("all objects have the types of Kubernetes, without a field that it does not know", async () => {
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(join(ROOT, "node_modules/kubernetes-types"), join(folder, "node_modules/kubernetes-types"));
    const objects = (await Promise.all([GIVEN, FULL, ONE].map(renderObjects))).flat();
    const kinds = Map.groupBy(objects, ({ kind }) => kind);
    const counts = Object.fromEntries(
      Array.from(kinds, ([kind, all]) => [String(kind), all.length] as const),
    );
    // One node alone has no disruption budget, and was given without a policy.
    expect(counts).toEqual({ Service: 6, StatefulSet: 3, NetworkPolicy: 2, PodDisruptionBudget: 2 });
    const lines = objects.map((object, index) => {
      const module = String(object["apiVersion"])
        .replace(/^(\w+)[\w.]*\//, "$1/")
        .replace(/^v1$/, "core/v1");
      return `const object${index}: import("kubernetes-types/${module}.js").${String(object["kind"])} = ${JSON.stringify(object)};`;
    });
    writeFileSync(join(folder, "objects.ts"), `${lines.join("\n")}\nexport {};\n`);
    const options = [
      "--noEmit",
      "--ignoreConfig",
      "--strict",
      "--skipLibCheck",
      "--module",
      "nodenext",
      "--types",
      "",
    ];
    const check = async (file: string): Promise<string> =>
      promisify(execFile)(join(ROOT, "node_modules/.bin/tsc"), [...options, join(folder, file)]).then(
        () => "",
        (failed: unknown) => String((failed as { readonly stdout?: string }).stdout),
      );
    expect(await check("objects.ts")).toBe("");
    // A field with a wrong name is noticed.
    writeFileSync(
      join(folder, "wrong.ts"),
      `${lines.join("\n").replace("minReadySeconds", "minReadySecond")}\nexport {};\n`,
    );
    expect(await check("wrong.ts")).toMatch(/minReadySecond\b.* does not exist/);
  }, 120_000);

  test("the nodes get options that exist, reach each other, and have the time that they need to end", async () => {
    for (const values of [GIVEN, FULL, ONE]) {
      const objects = await renderObjects(values);
      const of = (kind: string): Tree => objects.find((object) => object["kind"] === kind) as Tree;
      const { spec } = of("StatefulSet") as unknown as { readonly spec: StatefulSetSpec };
      const [node] = spec.template.spec.containers;
      const { nodes = 3, drainSeconds = 5 } = values as {
        readonly nodes?: number;
        readonly drainSeconds?: number;
      };
      expect(spec.replicas).toBe(nodes);
      const serve = (await createProgram()).commands.find((command) => command.name() === "serve");
      expect(node?.command).toEqual(["node", "dist/cli/main.js", "serve"]);
      expect(serve?.parseOptions([...(node?.args ?? [])]).unknown).toEqual([]);
      const services = objects.filter(
        ({ kind }) => kind === "Service",
      ) as unknown as readonly ServiceObject[];
      const between = services.find(({ metadata }) => metadata.name === spec.serviceName);
      expect(between?.spec).toMatchObject({ clusterIP: "None", publishNotReadyAddresses: true });
      expect(node?.env.find(({ name }) => name === "TROUPE_CLUSTER")?.value).toBe(
        `http://$(POD).${spec.serviceName}:4200`,
      );
      for (const service of services) expect(service.spec.selector).toEqual(spec.selector.matchLabels);
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
      expect(spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(3 + 2 * drainSeconds);
      expect(node?.env.every(({ value }) => value === undefined || typeof value === "string")).toBe(true);
    }
    expect((await render(FULL))["NOTES.txt"]).toContain("5 nodes of troupe");
  });

  test("a chart without an image or a secret is not rendered, and says what is missing", async () => {
    for (const [missing, said] of [
      ["image", "image is the image with troupe and your agents"],
      ["secret", "secret is the Secret with TROUPE_LOG"],
    ] as const)
      await expect(render({ ...GIVEN, [missing]: "" })).rejects.toMatchObject({
        stderr: expect.stringContaining(said) as string,
      });
  });
});

test("the chart has no other files than those that are rendered", () => {
  expect(readdirSync(join(CHART, "templates")).toSorted()).toEqual([
    "NOTES.txt",
    "_helpers.tpl",
    "disruption.yaml",
    "network.yaml",
    "services.yaml",
    "statefulset.yaml",
  ]);
});

interface StatefulSetSpec {
  readonly replicas: number;
  readonly serviceName: string;
  readonly selector: { readonly matchLabels: Tree };
  readonly template: {
    readonly metadata: { readonly labels: Tree };
    readonly spec: {
      readonly terminationGracePeriodSeconds: number;
      readonly containers: readonly {
        readonly command: readonly string[];
        readonly args: readonly string[];
        readonly env: readonly { readonly name: string; readonly value?: string }[];
      }[];
    };
  };
}

interface ServiceObject {
  readonly metadata: { readonly name: string };
  readonly spec: Tree;
}
