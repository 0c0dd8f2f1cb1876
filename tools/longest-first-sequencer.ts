import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { suiteGroups } from './suites.ts'

const longestFiles = suiteGroups.flatMap((group) => group.suites).flatMap((suite) => suite.longestFiles ?? [])

/** Sorts the `longestFiles` of the suites first, and the other files as vitest does. */
export class LongestFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const root = `${this.ctx.config.root}/`
    const findRank = ({ moduleId }: TestSpecification): number => {
      const index = longestFiles.indexOf(moduleId.replace(root, ''))
      return index < 0 ? longestFiles.length : index
    }
    return (await super.sort(files)).toSorted((one, other) => findRank(one) - findRank(other))
  }
}
