import type { ProgramName } from './programs.ts'

/** Test files that run together. Its globs select the files; `test/architecture` finds test files without a suite. */
export type Suite = {
  readonly name: string
  readonly include: readonly string[]
  /** The approximate duration on two cores while another suite runs. The longest suite starts first. */
  readonly minutes: number
  /** Cores that the suite keeps busy on average, such as 0.6. Other suites run on the remaining cores. */
  readonly cores: number
  /** Programs that have to be installed before the suite starts. */
  readonly programs?: readonly ProgramName[]
  /**
   * Number of concurrent files; by default the number of cores. It is 1 for suites that start servers, measure time or kill
   * processes. It exceeds the number of cores for suites that mostly wait.
   */
  readonly workers?: number
  /** The slowest files, in this order. They start first, so that none of them runs alone at the end. */
  readonly longestFiles?: readonly string[]
  readonly timeoutMs?: number
  /** False if the files share loaded modules, which saves most of their time. Then no file may change a module or a global. */
  readonly isolate?: boolean
  /** A file whose default export runs once before all files of the suite. */
  readonly globalSetup?: string
}

/** A group of suites, which `npm test -- <name>` runs. It accepts the name of a single suite, too. */
export type SuiteGroup = {
  readonly name: string
  readonly about: string
  /** True if `npm test` without arguments runs the group. Such a group needs neither Go nor Java. */
  readonly isForNewcomers?: boolean
  readonly suites: readonly Suite[]
}

export const suiteGroups: readonly SuiteGroup[] = [
  {
    name: 'main',
    about: 'units, contracts, architecture and the whole market on one machine',
    isForNewcomers: true,
    suites: [
      {
        name: 'units',
        include: ['{packages,services,tools,bench}/**/*.test.ts'],
        minutes: 3,
        cores: 2,
        isolate: false,
        timeoutMs: 120_000,
      },
      { name: 'architecture', include: ['test/architecture/**/*.test.ts'], minutes: 2, cores: 1, workers: 1, timeoutMs: 300_000 },
      {
        name: 'market',
        include: ['test/e2e/**/*.test.ts'],
        minutes: 10,
        cores: 1,
        programs: ['chromium'],
        workers: 1,
        timeoutMs: 450_000,
      },
      {
        name: 'observability',
        include: ['test/observability/*.test.ts'],
        minutes: 1,
        cores: 1,
        programs: ['promtool'],
        workers: 1,
        timeoutMs: 300_000,
      },
    ],
  },
  {
    name: 'proof',
    about: 'the market is killed at every crash point and at random moments, and recovers',
    isForNewcomers: true,
    suites: [
      {
        name: 'hostile',
        include: ['test/fuzz/**/*.test.ts'],
        minutes: 5,
        cores: 1,
        programs: ['schemathesis'],
        workers: 1,
        timeoutMs: 450_000,
      },
      { name: 'crash', include: ['test/crash/**/*.test.ts'], minutes: 8, cores: 1, workers: 1, timeoutMs: 450_000 },
      {
        name: 'faults',
        include: ['test/{chaos,support/invariants}/*.test.ts'],
        minutes: 10,
        cores: 1,
        workers: 1,
        timeoutMs: 450_000,
      },
      { name: 'simulation', include: ['test/simulation/**/*.test.ts'], minutes: 6, cores: 2, workers: 1, timeoutMs: 450_000 },
      { name: 'mutants', include: ['test/mutants/**/*.test.ts'], minutes: 2, cores: 1, workers: 1, timeoutMs: 450_000 },
    ],
  },
  {
    name: 'model',
    about: 'TLC checks the invariants of the money protocol on its model, and finds planted mistakes',
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
      { name: 'kurrentdb', include: ['test/kurrentdb/**/*.test.ts'], minutes: 3, cores: 0.6, workers: 1, timeoutMs: 300_000 },
      { name: 'postgres', include: ['test/postgres/**/*.test.ts'], minutes: 5, cores: 0.6, workers: 1, timeoutMs: 300_000 },
      {
        name: 'kafka',
        include: ['test/kafka/**/*.test.ts'],
        minutes: 7,
        cores: 0.6,
        programs: ['kafka'],
        workers: 1,
        timeoutMs: 900_000,
      },
      {
        name: 'processes',
        include: ['test/{cluster,chaos/cluster}/**/*.test.ts'],
        minutes: 12,
        cores: 2,
        programs: ['kafka'],
        workers: 1,
        timeoutMs: 600_000,
      },
      {
        name: 'traces',
        include: ['test/observability/cluster/**/*.test.ts'],
        minutes: 1,
        cores: 2,
        programs: ['kafka'],
        workers: 1,
        timeoutMs: 300_000,
      },
    ],
  },
  {
    name: 'deploy',
    about:
      'the image, the compose file on a Docker engine, and the chart, which a real Kubernetes API server installs and upgrades',
    suites: [
      { name: 'image', include: ['test/deploy/{image*,settings}.test.ts'], minutes: 1, cores: 1, workers: 1, timeoutMs: 600_000 },
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
        name: 'containers',
        include: ['test/deploy/containers/*.test.ts'],
        minutes: 10,
        cores: 2,
        programs: ['compose', 'containers'],
        workers: 1,
        timeoutMs: 900_000,
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
        include: ['test/{lightning,chaos/lightning}/**/*.test.ts'],
        minutes: 15,
        cores: 2,
        programs: ['lightning'],
        workers: 3,
        longestFiles: [
          'test/lightning/lightning.test.ts',
          'test/chaos/lightning/lightning.test.ts',
          'test/lightning/regtest.test.ts',
          'test/lightning/agents.test.ts',
          'test/lightning/heights.test.ts',
          'test/lightning/reorgs.test.ts',
        ],
        globalSetup: 'test/lightning/global-setup.ts',
        timeoutMs: 600_000,
      },
    ],
  },
]
