import type { VNode } from "preact";
import type { Fields } from "../../protocol/json.ts";
import { resolveSchema } from "./operations.ts";
import type { ApiContent, ApiParameter } from "./operations.ts";
import { SchemaLinks } from "./schema-part.tsx";

interface ParameterFieldProps {
  readonly parameter: ApiParameter;
  readonly value: string;
  onValue(value: string): void;
}

/** A parameter of a route. An empty one is not sent. */
export function ParameterField({ parameter, value, onValue }: ParameterFieldProps): VNode {
  const { name, description, isRequired, choices } = parameter;
  const id = `api-${name}`;
  return (
    <div class="field">
      <label for={id}>
        <code>{name}</code>
        <span class="hint">{isRequired ? "required" : parameter.in === "header" ? "header" : ""}</span>
      </label>
      {choices === undefined ? (
        <input
          id={id}
          class="input mono"
          dir="auto"
          autocomplete="off"
          value={value}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      ) : (
        <select
          id={id}
          class="input"
          value={value}
          onChange={({ currentTarget }) => onValue(currentTarget.value)}
        >
          <option value="">not sent</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
      {description !== "" && <p class="hint">{description}</p>}
    </div>
  );
}

interface BodyFieldProps {
  readonly content: ApiContent;
  readonly schemas: Fields;
  readonly text: string;
  onText(text: string): void;
  onFile(file: File | undefined): void;
}

/** The body of a request: JSON, or a file. */
export function BodyField({ content, schemas, text, onText, onFile }: BodyFieldProps): VNode {
  const { name } = resolveSchema(content.schema, schemas);
  return (
    <div class="field">
      <label for="api-body">
        Body
        {name !== undefined && (
          <span class="hint">
            <SchemaLinks names={[name]} />
          </span>
        )}
      </label>
      {content.schema === undefined ? (
        <input id="api-body" type="file" onChange={({ currentTarget }) => onFile(currentTarget.files?.[0])} />
      ) : (
        <textarea
          id="api-body"
          class="input mono"
          rows={6}
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => onText(currentTarget.value)}
        />
      )}
    </div>
  );
}
