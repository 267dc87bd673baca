import "../styles/api.css";
import type { VNode } from "preact";
import { useConsole } from "../app/context.ts";
import { useResource } from "../data/resource.ts";
import { RefusalNote } from "../parts/refusal.tsx";
import type { AgentEntry } from "../../protocol/answers/answers.ts";
import { readApi } from "./operations.ts";
import type { Api, ApiOperation } from "./operations.ts";
import { OperationSection } from "./operation-section.tsx";
import { SchemaPart } from "./schema-part.tsx";

/** The routes and schemas of the server, to read and to try. */
export function ApiPlace(): VNode {
  const { server, place } = useConsole();
  const { route, schema } = place.query;
  const { value, error } = useResource(server.url, async (signal) => {
    const [document, agents] = await Promise.all([
      server.ask("GET", "/openapi.json", { signal }),
      server.ask("GET", "/", { signal }),
    ]);
    const names = (agents.json as readonly AgentEntry[]).map(({ name }) => name);
    return { api: readApi(document.json), names };
  });
  return (
    <div class="page">
      <div class="heading">
        <h1 tabIndex={-1}>API</h1>
        <span class="second">
          The document for programs is at <code>/openapi.json</code>.
        </span>
      </div>
      {error !== undefined && <RefusalNote error={error} />}
      {value !== undefined && (
        <div class="api">
          <Index api={value.api} route={route} schema={schema} />
          <div class={route === undefined && schema === undefined ? "api-shown" : "api-shown chosen"}>
            {schema === undefined ? (
              <Chosen {...value} route={route} />
            ) : (
              <SchemaPart name={schema} schemas={value.api.schemas} />
            )}
          </div>
        </div>
      )}
    </div>
  );
}

interface ChosenProps {
  readonly api: Api;
  readonly names: readonly string[];
  readonly route: string | undefined;
}

function Chosen({ api, names, route }: ChosenProps): VNode {
  const operation = route === undefined ? api.operations[0] : api.operations.find(({ id }) => id === route);
  if (operation === undefined) return <p class="second">The server has no such route.</p>;
  return <OperationSection key={operation.id} operation={operation} schemas={api.schemas} agents={names} />;
}

interface IndexProps {
  readonly api: Api;
  readonly route: string | undefined;
  readonly schema: string | undefined;
}

/** All routes and schemas as links. */
function Index({ api, route, schema }: IndexProps): VNode {
  const { operations, schemas } = api;
  const shown = schema === undefined ? (route ?? operations[0]?.id) : undefined;
  return (
    <nav class="api-index" aria-label="Routes and schemas">
      <h2>Of an agent, or of all</h2>
      <Routes operations={operations.filter(({ isOfAgent }) => isOfAgent)} shown={shown} />
      <h2>Of the server</h2>
      <Routes operations={operations.filter(({ isOfAgent }) => !isOfAgent)} shown={shown} />
      <details open={schema !== undefined}>
        <summary>
          <h2>Schemas</h2>
        </summary>
        <ul class="list">
          {Object.keys(schemas).map((name) => (
            <li key={name}>
              <a
                class="row"
                href={`#/api?schema=${encodeURIComponent(name)}`}
                aria-current={name === schema ? "true" : undefined}
              >
                <code class="one-line">{name}</code>
              </a>
            </li>
          ))}
        </ul>
      </details>
    </nav>
  );
}

interface RoutesProps {
  readonly operations: readonly ApiOperation[];
  readonly shown: string | undefined;
}

function Routes({ operations, shown }: RoutesProps): VNode {
  return (
    <ul class="list">
      {operations.map(({ id, method, path }) => (
        <li key={id}>
          <a
            class="row api-row"
            href={`#/api?route=${encodeURIComponent(id)}`}
            aria-current={id === shown ? "true" : undefined}
          >
            <code class="second">{method}</code>
            <code class="one-line" title={path}>
              {path}
            </code>
          </a>
        </li>
      ))}
    </ul>
  );
}
