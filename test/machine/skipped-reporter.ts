import type { Reporter, TestModule } from "vitest/node";
import { LACKS } from "./skip-without.ts";

/** Prints one line for each test that was skipped because the machine lacks a part. */
export class SkippedReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        const result = test.result();
        if (result.state !== "skipped" || !result.note?.startsWith(LACKS)) continue;
        console.log(`skipped ${module.relativeModuleId} > ${test.fullName}: ${result.note}`);
      }
    }
  }
}
