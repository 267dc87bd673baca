import { defineConfig } from "oxlint";
import type { OxlintOverride } from "oxlint";

type ImportRule = NonNullable<NonNullable<OxlintOverride["rules"]>["no-restricted-imports"]>;

/** What a folder of src/ may import besides its own files. */
interface Layer {
  readonly folder: string;
  /** Files of src/, as imported from a file directly in the folder. */
  readonly ours: readonly string[];
  /** Packages, with `/**` if subpaths are allowed. */
  readonly packages: readonly string[];
  /** Set for the folders that may use the machine (files, sockets, processes). */
  readonly node?: boolean;
  /** Set if subfolders must not import each other. */
  readonly apart?: boolean;
}

/** The folder's own files; for a subfolder of a layer, the whole layer. */
const FLAT = ["!./**"];
const NESTED = ["!./**", "!../**", "../../**"];

/** Node's own modules, including those with a subpath. */
const NODE = ["node:*", "node:*/*"];

const SHARED = "../shared/**";
const RUNTIME = [SHARED, "../protocol/**", "../errors.ts", "../ports/**", "../runtime/**"];
const EDGES = [
  "../view/**",
  "../storage/**",
  "../cluster/**",
  "../http/**",
  "../auth/**",
  "../adapters/**",
  "../client/**",
  "../llm/**",
];

/** The layers, from left to right. An import may only point to the left. */
const LAYERS: readonly Layer[] = [
  { folder: "shared", ours: [], packages: [] },
  { folder: "protocol", ours: [SHARED], packages: ["zod", "zod/**", "@standard-schema/spec"] },
  { folder: "ports", ours: [SHARED, "../protocol/**", "../errors.ts"], packages: [] },
  {
    folder: "runtime",
    ours: [SHARED, "../protocol/**", "../errors.ts", "../ports/**"],
    packages: ["xstate", "croner", "@standard-schema/spec"],
  },
  { folder: "view", ours: RUNTIME, packages: [] },
  { folder: "storage", ours: RUNTIME, packages: ["eventemitter3"] },
  { folder: "cluster", ours: RUNTIME, packages: [] },
  { folder: "http", ours: RUNTIME, packages: ["hono", "hono/**", "@hono/node-server", "zod"] },
  {
    folder: "auth",
    ours: [...RUNTIME, "../storage/memory/**", "../http/**"],
    packages: ["jose", "openid-client"],
    node: true,
  },
  { folder: "client", ours: [...RUNTIME, "../view/**"], packages: [] },
  { folder: "react", ours: [...RUNTIME, "../view/**", "../client/**"], packages: ["react"] },
  {
    folder: "llm",
    ours: RUNTIME,
    packages: [
      "ai",
      "@ai-sdk/openai-compatible",
      "@modelcontextprotocol/client",
      "@modelcontextprotocol/client/**",
      "zod",
    ],
  },
  {
    folder: "adapters",
    ours: [...RUNTIME, "../view/**", "../http/**"],
    packages: ["hono", "hono/**", "zod", "@modelcontextprotocol/server", "@a2a-js/sdk", "@a2a-js/sdk/**"],
    apart: true,
  },
  {
    folder: "node",
    ours: [...RUNTIME, "../cluster/**", "../http/**", "../auth/**", "../adapters/**", "../client/**"],
    packages: ["hono", "hono/**", "@hono/node-server", "@hono/node-server/serve-static", "nanoid"],
    node: true,
  },
  {
    folder: "webhooks",
    ours: [...RUNTIME, "../http/**", "../node/**"],
    packages: ["hono", "zod"],
    node: true,
  },
  {
    folder: "otel",
    ours: [...RUNTIME, "../view/**", "../node/listener.ts"],
    packages: [
      "@opentelemetry/api",
      "@opentelemetry/exporter-metrics-otlp-proto",
      "@opentelemetry/exporter-trace-otlp-proto",
    ],
    node: true,
  },
  {
    folder: "eval",
    ours: [
      ...RUNTIME,
      "../storage/memory/**",
      "../cluster/**",
      "../http/messages/html-page.ts",
      "../node/environment.ts",
    ],
    packages: ["zod"],
  },
  {
    folder: "console",
    ours: [...RUNTIME, "../view/**", "../client/**", "../eval/report.ts"],
    packages: ["preact", "preact/hooks", "marked", "@dagrejs/dagre"],
  },
  {
    folder: "cli",
    ours: [
      ...RUNTIME,
      ...EDGES,
      "../node/**",
      "../webhooks/**",
      "../otel/**",
      "../eval/**",
      "../console/**",
      "../testing/**",
    ],
    packages: [],
    node: true,
  },
];

/**
 * What a room may import beside its own files: other rooms of the same folder, and files at the folder's root.
 * Rooms are listed from the bottom up, so an import only points to a room above its own line.
 */
interface Rooms {
  readonly folder: string;
  /** Files at the folder's root that every room may import. */
  readonly shared?: readonly string[];
  /** What every room may import besides what its layer may, as imported from a room. */
  readonly more?: readonly string[];
  readonly rooms: Readonly<Record<string, readonly string[]>>;
}

const READ = ["agent", "journal", "replay"];

const ROOMS: readonly Rooms[] = [
  {
    folder: "runtime",
    shared: [
      "answer-links",
      "api",
      "feeds",
      "inspection",
      "lazy",
      "limits",
      "lists",
      "recording",
      "run-context",
      "seals",
    ],
    rooms: {
      system: [],
      secrets: [],
      access: [],
      owners: [],
      agent: ["secrets"],
      journal: ["agent", "secrets"],
      model: ["agent", "journal"],
      replay: ["agent", "journal"],
      artifacts: ["journal"],
      scheduler: READ,
      turn: [...READ, "system", "secrets", "owners", "artifacts", "scheduler"],
      calls: [...READ, "model", "owners", "scheduler", "turn"],
      remote: [...READ, "artifacts", "scheduler", "turn"],
      actor: [...READ, "system", "model", "artifacts", "scheduler", "turn", "calls", "remote"],
      machine: [...READ, "system", "secrets", "actor"],
      activation: [...READ, "system", "owners", "artifacts", "scheduler", "turn", "actor"],
      run: [...READ, "system", "secrets", "artifacts", "scheduler", "actor", "activation"],
      queries: [...READ, "access", "secrets"],
      commands: [...READ, "access", "secrets", "owners", "artifacts", "run", "queries"],
      supervision: ["secrets", "agent", "journal", "system", "run", "commands"],
    },
  },
  {
    folder: "http",
    rooms: {
      messages: [],
      vendor: [],
      metrics: ["vendor"],
      guards: ["messages"],
      openapi: [],
      sse: ["messages"],
      routes: ["messages", "metrics", "openapi", "sse"],
    },
  },
  {
    folder: "client",
    shared: ["call-api", "client-api"],
    rooms: {
      wire: [],
      stream: ["wire"],
      store: ["wire", "requests", "lists", "call"],
      requests: ["wire", "stream"],
      call: ["wire", "requests"],
      lists: ["wire", "stream"],
      description: ["wire"],
      exchange: ["wire", "stream"],
      remote: ["wire", "stream", "description"],
    },
  },
  // It has the types of the AI SDK, and no code of it.
  {
    folder: "client",
    shared: ["call-api", "client-api"],
    more: ["ai"],
    rooms: { ui: ["wire", "requests"] },
  },
  {
    folder: "storage/sqlite",
    more: ["../../shared/**", "../../sql/**", "../../fs/**", ...NODE],
    rooms: {
      format: [],
      reader: ["format"],
      writer: ["format"],
      directory: ["format", "reader", "writer"],
    },
  },
  {
    folder: "storage/postgres",
    shared: ["options", "reader"],
    more: ["../../shared/**", "../../sql/**", "pg", ...NODE],
    rooms: {
      connection: [],
      schema: ["connection"],
      writer: ["connection"],
      wakes: ["connection"],
      shards: ["connection", "schema", "writer", "wakes"],
    },
  },
  {
    folder: "adapters/agentscope",
    shared: ["objects"],
    rooms: {
      builders: [],
      dialect: [],
      request: ["dialect"],
      response: ["builders", "dialect"],
      routes: ["dialect", "request", "response"],
    },
  },
  { folder: "adapters/a2a", shared: ["message", "repeats"], rooms: { client: [] } },
  {
    folder: "adapters/aip",
    more: ["@grpc/grpc-js", "@grpc/proto-loader"],
    rooms: {
      wire: [],
      rpc: ["wire"],
      session: ["wire", "rpc"],
      gateway: ["wire", "rpc", "session"],
      node: ["wire", "rpc", "session"],
      client: ["wire", "rpc"],
    },
  },
  {
    folder: "adapters/tasks",
    shared: ["objects"],
    rooms: {
      task: [],
      request: [],
      answer: ["task", "request"],
      steps: ["task", "request"],
      routes: ["task", "request", "answer", "steps"],
    },
  },
  { folder: "llm", rooms: { prompt: [], "ai-sdk": ["prompt"], mcp: ["prompt"] } },
];

/** The files that may re-export: the entries of the package, and the libraries that the build bundles. */
const ENTRIES = [
  "src/client/browser.ts",
  "src/cli/vendor/*",
  "src/http/vendor/*",
  "src/node/vendor/*",
  "src/index.ts",
  "src/*/index.ts",
  "src/storage/*/index.ts",
  "src/adapters/*/index.ts",
  "src/client/ui/index.ts",
  "src/react/ui/index.ts",
  "src/testing/vitest.ts",
];

export default defineConfig({
  plugins: ["typescript", "import", "unicorn", "oxc", "promise", "vitest", "node", "react", "jsx-a11y"],
  jsPlugins: ["./test/house/lint-plugin.ts"],
  categories: { correctness: "error", suspicious: "error" },
  ignorePatterns: [
    "dist",
    ".ci/node/link.js",
    "create-troupe",
    "examples/web/{next,vite}",
    "site/src",
    "site/astro.config.ts",
    "node_modules",
    ".troupe",
    "coverage",
    "**/*.gen.*",
  ],
  options: { typeAware: true },
  // Preact takes the names of HTML.
  settings: { "jsx-a11y": { attributes: { for: ["for", "htmlFor"] } } },
  rules: {
    "import/no-cycle": "error",
    "import/no-default-export": "error",
    "import/no-duplicates": "error",
    "import/no-mutable-exports": "error",
    "import/no-named-as-default-member": "off",
    "house/no-barrel": "error",

    "typescript/consistent-type-imports": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": "error",
    "typescript/no-non-null-assertion": "error",
    "typescript/no-unsafe-assignment": "error",
    "typescript/no-unsafe-call": "error",
    "typescript/no-unsafe-member-access": "error",
    "typescript/no-unsafe-return": "error",
    // Brands need assertions, and parsed values are asserted once.
    "typescript/no-unsafe-type-assertion": "off",
    "typescript/only-throw-error": "error",
    "typescript/prefer-promise-reject-errors": "error",
    "typescript/prefer-readonly": "error",
    "typescript/return-await": "error",
    "typescript/switch-exhaustiveness-check": [
      "error",
      { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: true },
    ],

    eqeqeq: "error",
    "max-depth": ["error", 4],
    "no-console": "error",
    "no-else-return": "error",
    "no-param-reassign": "error",
    "no-promise-executor-return": "error",
    "no-var": "error",
    "object-shorthand": "error",
    "prefer-const": "error",
    "unicorn/prefer-node-protocol": "error",
    "unicorn/throw-new-error": "error",

    "react/hooks": "error",
    "react-hooks/exhaustive-deps": "error",
    // A region that scrolls must be reached by the keyboard.
    "jsx-a11y/no-noninteractive-tabindex": ["error", { roles: ["group", "log", "tabpanel"], tags: [] }],
    // A region and a form may have shortcuts.
    "jsx-a11y/no-noninteractive-element-interactions": [
      "error",
      { handlers: ["onClick", "onMouseDown", "onMouseUp"] },
    ],
    // A `status` is not the output of a form, and a `group` no address.
    "jsx-a11y/prefer-tag-over-role": "off",
    // Vite writes the imports of JSX.
    "react/react-in-jsx-scope": "off",
    // They are for the compiler of React, which the console does not use: a ref may hold what the newest render has seen.
    "react/immutability": "off",
    "react/purity": "off",
    "react/refs": "off",

    // Options and engines are plain objects, which may be destructured.
    "typescript/unbound-method": "off",
    "typescript/no-generated-empty-object-type": "off",
    "unicorn/no-array-sort": "off",
    // The rule does not see changes made by a callback.
    "no-unmodified-loop-condition": "off",
    // Code after a commit often needs no result.
    "promise/always-return": "off",
    // Sequential waits are usually intended.
    "no-await-in-loop": "off",
    // A handler is often a small function inside another, close to the values it uses.
    "unicorn/consistent-function-scoping": "off",
    // An inner scope may reuse a name if the outer one is not needed there.
    "no-shadow": "off",
  },
  overrides: [
    ...LAYERS.flatMap(toOverrides),
    {
      files: ["src/errors.ts"],
      rules: { "no-restricted-imports": only(["./shared/**", "./protocol/**"], []) },
    },
    {
      files: ["src/storage/{sqlite,fs}/*"],
      rules: {
        "no-restricted-imports": only(
          [...deeper(RUNTIME), ...NODE],
          ["!./**", "!../shared/**", "!../sql/**", "!../fs/**"],
        ),
      },
    },
    {
      files: ["src/storage/postgres/*"],
      rules: {
        "no-restricted-imports": only(
          [...deeper(RUNTIME), ...NODE, "pg"],
          ["!./**", "!../shared/**", "!../sql/**"],
        ),
      },
    },
    ...ROOMS.flatMap(toRoomOverrides),
    {
      // It is a client of the server that an editor talks to.
      files: ["src/adapters/acp/*"],
      rules: {
        "no-restricted-imports": only(
          [
            ...deeper([...RUNTIME, "../view/**", "../http/**", "../client/**"]),
            "zod",
            "@agentclientprotocol/sdk",
          ],
          ["!./**"],
        ),
      },
    },
    {
      // The package of the protocol is there for its types alone.
      files: ["src/adapters/openai/*"],
      rules: {
        "no-restricted-imports": only(
          [...deeper([...RUNTIME, "../view/**", "../http/**"]), "hono", "zod", "openai/resources/**"],
          ["!./**"],
        ),
      },
    },
    {
      files: ["src/adapters/ag-ui/*"],
      rules: {
        "no-restricted-imports": only(
          [
            ...deeper([...RUNTIME, "../view/**", "../http/**"]),
            "hono",
            "zod",
            "@ag-ui/core",
            "@ag-ui/encoder",
          ],
          ["!./**"],
        ),
      },
    },
    {
      files: ["src/cli/vendor/*"],
      rules: { "no-restricted-imports": only(["commander", "@clack/prompts"]) },
    },
    { files: ["src/http/vendor/*"], rules: { "no-restricted-imports": only(["prom-client"]) } },
    { files: ["src/node/vendor/*"], rules: { "no-restricted-imports": only(["ignore"]) } },
    // XState begins the names of what its actors and systems have for each other like that.
    { files: ["src/runtime/system/*"], rules: { "no-underscore-dangle": "off" } },
    // A supervision has a field `then`, which is a text.
    {
      files: [
        "src/protocol/events/event-body.ts",
        "src/runtime/agent/definition/supervision.ts",
        "examples/**",
        "test/**",
      ],
      rules: { "unicorn/no-thenable": "off" },
    },
    { files: ENTRIES, rules: { "house/no-barrel": "off" } },
    {
      files: ["src/{shared,protocol,ports,runtime}/**"],
      rules: {
        "no-restricted-globals": [
          "error",
          ...["setTimeout", "setInterval", "setImmediate", "fetch", "process", "Buffer", "performance"].map(
            (name) => ({ name, message: "Time and the outside world come in through the environment." }),
          ),
        ],
        "no-restricted-properties": [
          "error",
          { object: "Date", property: "now", message: "Ask the environment for the time." },
          { object: "Math", property: "random", message: "Ask the environment for a random number." },
        ],
      },
    },
    {
      files: ["agents/**", "examples/**", "src/cli/init/templates/**"],
      rules: {
        "no-restricted-imports": [
          "error",
          {
            patterns: [
              { group: ["**/src/**", "**/dist/**"], message: "Import from the package, as users do." },
            ],
          },
        ],
        "no-console": "off",
      },
    },
    {
      files: ["src/cli/**"],
      rules: {
        "no-restricted-properties": [
          "error",
          ...["stdout", "stderr"].map((property) => ({
            object: "process",
            property,
            message: "Print with print/terminal.ts, which makes every text visible.",
          })),
        ],
      },
    },
    {
      files: ["src/cli/print/terminal.ts", "src/cli/prompt/prompts.ts"],
      rules: { "no-restricted-properties": "off" },
    },
    { files: ["test/**", ".ci/**"], rules: { "no-console": "off" } },
    { files: ["test/**"], rules: { "no-restricted-imports": "off" } },
    // The test runner of Node awaits the tests itself.
    {
      files: ["src/cli/init/templates/*/test/**", "examples/support-desk/test/**"],
      rules: { "typescript/no-floating-promises": "off" },
    },
    // A style that only some places need is loaded with them.
    {
      files: ["src/console/**/*.tsx"],
      rules: { "import/no-unassigned-import": ["error", { allow: ["**/*.css"] }] },
    },
    { files: ["*.config.ts", "test/house/lint-plugin.ts"], rules: { "import/no-default-export": "off" } },
  ],
});

/** The rules of one layer: one for the files in its folder, one for those in a subfolder. */
function toOverrides({ folder, ours, packages, node = false, apart = false }: Layer): OxlintOverride[] {
  const outside = node ? [...packages, ...NODE] : packages;
  const inside = apart ? FLAT : NESTED;
  return [
    { files: [`src/${folder}/*`], rules: { "no-restricted-imports": only([...ours, ...outside]) } },
    {
      files: [`src/${folder}/*/**`],
      rules: { "no-restricted-imports": only([...deeper(ours), ...outside], inside) },
    },
  ];
}

/** The rules for the rooms of one folder, one per room. */
function toRoomOverrides({ folder, shared = [], more = [], rooms }: Rooms): OxlintOverride[] {
  const layer = LAYERS.find(({ folder: name }) => name === folder.split("/")[0]);
  if (layer === undefined) throw new Error(`${folder} is in no layer.`);
  const ours = deeper(folder.includes("/") ? deeper(layer.ours) : layer.ours);
  return Object.entries(rooms).flatMap(([room, others]) => {
    const packages = [...layer.packages, ...(layer.node === true ? NODE : [])];
    const theirs = [
      ...ours,
      ...more,
      ...shared.map((file) => `../${file}.ts`),
      ...others.map((other) => `../${other}/**`),
    ];
    return [
      {
        files: [`src/${folder}/${room}/*`],
        rules: { "no-restricted-imports": only([...theirs, ...packages]) },
      },
      {
        files: [`src/${folder}/${room}/*/**`],
        rules: { "no-restricted-imports": only([...deeper(theirs), ...packages], NESTED) },
      },
    ];
  });
}

/** Forbids every import except those of the file's own folder and the given ones. */
function only(allowed: readonly string[], own: readonly string[] = FLAT): ImportRule {
  const group = ["**", ...own, ...allowed.map((pattern) => `!${pattern}`)];
  return [
    "error",
    {
      patterns: [
        {
          group,
          message: "An import may only point to a layer on the left, or to a room that this room may use.",
        },
      ],
    },
  ];
}

/** The same files, as imported from one folder further down. */
function deeper(patterns: readonly string[]): string[] {
  return patterns.map((pattern) => `../${pattern}`);
}
