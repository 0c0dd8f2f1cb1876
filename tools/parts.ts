/** Test files that run together. Its globs decide what belongs to it; `test/architecture` finds files that belong to none. */
export type Suite = {
  readonly name: string
  readonly include: readonly string[]
  /**
   * Files at a time, as many as there are cores where nothing is said: 1 for suites that start servers, measure time or kill
   * processes, more than there are cores for what mostly waits.
   */
  readonly workers?: number
  /** What takes longest, in this order: whoever begins with it does not end with waiting for it alone. */
  readonly longest?: readonly string[]
  readonly timeoutMs?: number
  /** A file whose default export runs once before all of them. */
  readonly before?: string
}

/** What `npm test -- <name>` runs. */
export type Part = {
  readonly name: string
  readonly about: string
  readonly needs?: 'chromium'
  readonly suites: readonly Suite[]
}

/** In the order in which `npm test` runs them: what is fast and fails often comes first, in each part too. */
export const parts: readonly Part[] = [
  {
    name: 'main',
    about: 'units, contracts, architecture and the whole market on one machine',
    needs: 'chromium',
    suites: [
      { name: 'units', include: ['{packages,services,tools,bench}/**/*.test.ts'], timeoutMs: 60_000 },
      { name: 'architecture', include: ['test/architecture/**/*.test.ts'], workers: 1, timeoutMs: 120_000 },
      { name: 'market', include: ['test/e2e/**/*.test.ts'], workers: 1, timeoutMs: 180_000 },
      { name: 'observability', include: ['test/observability/*.test.ts'], workers: 1, timeoutMs: 120_000 },
    ],
  },
  {
    name: 'proof',
    about: 'the market is killed at every crash point and at any moment, and stands up whole',
    suites: [
      { name: 'hostile', include: ['test/hostile/**/*.test.ts'], workers: 1, timeoutMs: 180_000 },
      { name: 'crash', include: ['test/crash/**/*.test.ts'], workers: 1, timeoutMs: 180_000 },
      { name: 'faults', include: ['test/faults/*.test.ts'], workers: 1, timeoutMs: 180_000 },
      { name: 'simulation', include: ['test/simulation/**/*.test.ts'], workers: 1, timeoutMs: 180_000 },
      { name: 'mutants', include: ['test/mutants/**/*.test.ts'], workers: 1, timeoutMs: 180_000 },
    ],
  },
  {
    name: 'cluster',
    about: 'the adapters of the cluster on real servers',
    suites: [
      { name: 'kurrentdb', include: ['test/kurrentdb/**/*.test.ts'], workers: 1, timeoutMs: 120_000 },
      { name: 'postgres', include: ['test/postgres/**/*.test.ts'], workers: 1, timeoutMs: 120_000 },
      { name: 'kafka', include: ['test/kafka/**/*.test.ts'], workers: 1, timeoutMs: 360_000 },
      { name: 'cluster', include: ['test/{cluster,faults/cluster}/**/*.test.ts'], workers: 1, timeoutMs: 240_000 },
      { name: 'traces', include: ['test/observability/cluster/**/*.test.ts'], workers: 1, timeoutMs: 300_000 },
    ],
  },
  {
    name: 'deploy',
    about: 'the image, the compose file and the chart, which a real Kubernetes API server installs and upgrades',
    suites: [{ name: 'deploy', include: ['test/deploy/**/*.test.ts'], workers: 1, timeoutMs: 300_000 }],
  },
  {
    name: 'lightning',
    about: 'lnd and btcd behind the ports, on a real network',
    suites: [
      {
        name: 'lightning',
        include: ['test/{lightning,faults/lightning}/**/*.test.ts'],
        workers: 3,
        longest: [
          'test/lightning/lightning.test.ts',
          'test/faults/lightning/lightning.test.ts',
          'test/lightning/regtest.test.ts',
          'test/lightning/agents.test.ts',
          'test/lightning/heights.test.ts',
          'test/lightning/reorgs.test.ts',
        ],
        before: 'test/lightning/built.ts',
        timeoutMs: 240_000,
      },
    ],
  },
]
