import type { VNode } from "preact";
import type { Fields, Json } from "../../protocol/json.ts";
import { Copy } from "../parts/copy.tsx";
import { JsonTree } from "../json/json-tree.tsx";
import { Links } from "../parts/links.tsx";
import { referencesIn } from "./operations.ts";

interface SchemaPartProps {
  readonly name: string;
  readonly schemas: Fields;
}

/** A schema, with links to those that it refers to. */
export function SchemaPart({ name, schemas }: SchemaPartProps): VNode {
  const schema = schemas[name] as Json | undefined;
  if (schema === undefined) return <p class="second">The server has no schema with the name {name}.</p>;
  const references = referencesIn(schema);
  return (
    <section class="form" aria-label={name}>
      <div class="actions">
        <h2 class="mono-title">{name}</h2>
        <span class="second">schema</span>
        <Copy text={JSON.stringify(schema, null, 2)} name="the schema" />
      </div>
      <JsonTree key={name} value={schema} open={4} />
      {references.length > 0 && (
        <p class="second">
          It refers to <SchemaLinks names={references} />
        </p>
      )}
    </section>
  );
}

/** Links to schemas. */
export function SchemaLinks({ names }: { readonly names: readonly string[] }): VNode {
  return <Links names={names} toHref={(name) => `#/api?schema=${encodeURIComponent(name)}`} />;
}
