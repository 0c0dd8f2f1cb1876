import type { ProgramName } from './programs.ts'

/** Test files that run together. Its globs decide what belongs to it; `test/architecture` finds files that belong to none. */
export type Suite = {
  readonly name: string
  readonly include: readonly string[]
  /** About how long it runs beside another one on two cores; the suite that takes longest begins first. */
  readonly minutes: number
  /** What it keeps busy of the machine; others run beside it on the rest. */
  readonly cores: number
  /** What has to be installed before it begins. */
  readonly programs?: readonly ProgramName[]
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

/** What `npm test -- <name>` runs; a suite is run by its name, too. */
export type Part = {
  readonly name: string
  readonly about: string
  readonly suites: readonly Suite[]
}

export const parts: readonly Part[] = [
  {
    name: 'main',
    about: 'units, contracts, architecture and the whole market on one machine',
    suites: [
      { name: 'units', include: ['{packages,services,tools,bench}/**/*.test.ts'], minutes: 3, cores: 2, timeoutMs: 60_000 },
      { name: 'architecture', include: ['test/architecture/**/*.test.ts'], minutes: 1, cores: 1, workers: 1, timeoutMs: 120_000 },
      {
        name: 'market',
        include: ['test/e2e/**/*.test.ts'],
        minutes: 13,
        cores: 1,
        programs: ['chromium'],
        workers: 1,
        timeoutMs: 180_000,
      },
      {
        name: 'observability',
        include: ['test/observability/*.test.ts'],
        minutes: 1,
        cores: 1,
        programs: ['promtool'],
        workers: 1,
        timeoutMs: 120_000,
      },
    ],
  },
  {
    name: 'proof',
    about: 'the market is killed at every crash point and at any moment, and stands up whole',
    suites: [
      { name: 'hostile', include: ['test/hostile/**/*.test.ts'], minutes: 4, cores: 1, workers: 1, timeoutMs: 180_000 },
      { name: 'crash', include: ['test/crash/**/*.test.ts'], minutes: 6, cores: 1, workers: 1, timeoutMs: 180_000 },
      { name: 'faults', include: ['test/faults/*.test.ts'], minutes: 4, cores: 1, workers: 1, timeoutMs: 180_000 },
      { name: 'simulation', include: ['test/simulation/**/*.test.ts'], minutes: 5, cores: 2, workers: 1, timeoutMs: 180_000 },
      { name: 'mutants', include: ['test/mutants/**/*.test.ts'], minutes: 2, cores: 1, workers: 1, timeoutMs: 180_000 },
    ],
  },
  {
    name: 'model',
    about: 'the model of the money protocol, checked by TLC: what has to hold, and mistakes that have to be noticed',
    suites: [
      {
        name: 'model',
        include: ['test/model/**/*.test.ts'],
        minutes: 3,
        cores: 2,
        programs: ['tlc'],
        workers: 1,
        timeoutMs: 1_200_000,
      },
    ],
  },
  {
    name: 'cluster',
    about: 'the adapters of the cluster on real servers',
    suites: [
      { name: 'kurrentdb', include: ['test/kurrentdb/**/*.test.ts'], minutes: 2, cores: 1, workers: 1, timeoutMs: 120_000 },
      { name: 'postgres', include: ['test/postgres/**/*.test.ts'], minutes: 3, cores: 1, workers: 1, timeoutMs: 120_000 },
      {
        name: 'kafka',
        include: ['test/kafka/**/*.test.ts'],
        minutes: 4,
        cores: 1,
        programs: ['kafka'],
        workers: 1,
        timeoutMs: 360_000,
      },
      {
        name: 'processes',
        include: ['test/{cluster,faults/cluster}/**/*.test.ts'],
        minutes: 7,
        cores: 2,
        programs: ['kafka'],
        workers: 1,
        timeoutMs: 240_000,
      },
      {
        name: 'traces',
        include: ['test/observability/cluster/**/*.test.ts'],
        minutes: 2,
        cores: 2,
        programs: ['kafka'],
        workers: 1,
        timeoutMs: 300_000,
      },
    ],
  },
  {
    name: 'deploy',
    about: 'the image, the compose file and the chart, which a real Kubernetes API server installs and upgrades',
    suites: [
      { name: 'image', include: ['test/deploy/{image,settings}.test.ts'], minutes: 2, cores: 1, workers: 1, timeoutMs: 300_000 },
      {
        name: 'compose',
        include: ['test/deploy/compose*.test.ts'],
        minutes: 1,
        cores: 1,
        programs: ['compose'],
        workers: 1,
        timeoutMs: 300_000,
      },
      {
        name: 'kubernetes',
        include: ['test/deploy/{chart,release}*.test.ts'],
        minutes: 3,
        cores: 1,
        programs: ['kubernetes'],
        workers: 1,
        timeoutMs: 300_000,
      },
    ],
  },
  {
    name: 'lightning',
    about: 'lnd and btcd behind the ports, on a real network',
    suites: [
      {
        name: 'lightning',
        include: ['test/{lightning,faults/lightning}/**/*.test.ts'],
        minutes: 14,
        cores: 2,
        programs: ['lightning'],
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
