import { defineConfig } from 'vitest/config'
import { LongestFirstSequencer } from './tools/longest-first-sequencer.ts'
import { suiteGroups } from './tools/suites.ts'
import { countReporter } from './tools/count-reporter.ts'

/** One project a suite, so that `vitest run <file>` uses the same settings as `npm test`. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirstSequencer },
    reporters: ['default', countReporter],
    projects: suiteGroups
      .flatMap((part) => part.suites)
      .map(({ name, include, workers = '100%', timeoutMs = 30_000, isolate = true, globalSetup }, order) => ({
        // Vite would take graphql's other build, beside the one that Apollo loads: two of them cannot work together.
        resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
        test: {
          name,
          include: [...include],
          pool: 'forks' as const,
          isolate,
          maxWorkers: workers,
          testTimeout: timeoutMs,
          hookTimeout: timeoutMs,
          // from 1: files of group 0 with a single worker would run after all groups
          globalSetup: globalSetup ?? [],
          sequence: { groupOrder: order + 1 },
        },
      })),
  },
})
