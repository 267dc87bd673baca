import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

/**
 * Starts the files first whose tests wait for processes, databases or the disk. They are short and take long, and Vitest starts
 * the largest files first as long as it has not measured them; then the last ones run alone, with an idle processor.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

function isSlow({ moduleId }: TestSpecification): boolean {
  return /\/test\/(?:cli|cluster|docs|faults|node|simulation|storage)\//.test(moduleId);
}
