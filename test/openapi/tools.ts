import { createConfig, lintFromString } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";

/** The types that a generated client is made of. */
export async function toTypes(document: string): Promise<string> {
  return astToString(await openapiTS(document));
}

/** The findings of a linter of OpenAPI documents. */
export async function lint(document: string): Promise<readonly string[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source: document, absoluteRef: "openapi.json", config });
  return problems.map(({ message, ruleId }) => `${ruleId}: ${message}`);
}
