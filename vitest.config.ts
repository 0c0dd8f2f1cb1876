import { defineConfig } from 'vitest/config'
import { testParts } from './tools/parts.ts'

/** One project a part, so that `vitest run <file>` uses the same settings as the commands of the three layers. */
export default defineConfig({
  test: {
    projects: testParts.map((part, index) => ({
      // Vite would take graphql's other build, beside the one that Apollo loads: two of them cannot work together.
      resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
      test: {
        name: part.name,
        include: [...part.include],
        exclude: ['**/node_modules/**', ...(part.exclude ?? [])],
        pool: 'forks' as const,
        isolate: part.isolate ?? true,
        maxWorkers: part.workers ?? '100%',
        testTimeout: part.timeoutMs,
        hookTimeout: part.timeoutMs,
        globalSetup: part.globalSetup ?? [],
        setupFiles: [...(part.setupFiles ?? [])],
        // Files of the fast layer run together. From 1, since files of group 0 with one worker would run after all groups.
        sequence: { groupOrder: part.layer === 'fast' ? 1 : index + 2 },
      },
    })),
  },
})
