import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { parts } from './parts.ts'

const longest = parts.flatMap((part) => part.suites).flatMap((suite) => suite.longest ?? [])

/** By the order that a suite names, where it names one; the rest as vitest would have it. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const root = `${this.ctx.config.root}/`
    const place = ({ moduleId }: TestSpecification): number => {
      const index = longest.indexOf(moduleId.replace(root, ''))
      return index < 0 ? longest.length : index
    }
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other))
  }
}
