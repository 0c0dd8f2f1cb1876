import { defineConfig } from 'vitest/config'
import { LongestFirst } from './tools/longest-first.ts'
import { parts } from './tools/parts.ts'
import { tallyReporter } from './tools/tally.ts'

/** One project a suite, so that `vitest run <file>` uses the same settings as `npm test`. */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ['default', tallyReporter],
    projects: parts
      .flatMap((part) => part.suites)
      .map(({ name, include, workers = '100%', timeoutMs = 30_000, before }, order) => ({
        // Vite would take graphql's other build, beside the one that Apollo loads: two of them cannot work together.
        resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
        test: {
          name,
          include: [...include],
          pool: 'forks' as const,
          maxWorkers: workers,
          testTimeout: timeoutMs,
          hookTimeout: timeoutMs,
          // from 1: files of group 0 with a single worker would run after all groups
          globalSetup: before ?? [],
          sequence: { groupOrder: order + 1 },
        },
      })),
  },
})
