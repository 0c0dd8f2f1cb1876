import type { ProgramName } from './programs.ts'

/** The three layers of tests. `npm test`, `npm run test:servers` and `npm run proof` each run one of them. */
export type LayerName = 'fast' | 'servers' | 'proof'

/** Test files that run together, as one vitest project. */
export type TestPart = {
  readonly name: string
  readonly layer: LayerName
  /** The contents, for `--list`. */
  readonly about: string
  readonly include: readonly string[]
  readonly exclude?: readonly string[]
  /** Programs in addition to Node.js. They are installed before the part starts. */
  readonly programs?: readonly ProgramName[]
  readonly timeoutMs: number
  /** Number of files that run at the same time. Files of the fast layer use all cores. */
  readonly workers?: number
  /** False if the files share loaded modules, which saves most of their time. Then no file may change a module or a global. */
  readonly isolate?: boolean
  /** A file whose default export runs once before the files of the part. */
  readonly globalSetup?: string
  /** Files that run before every test file. */
  readonly setupFiles?: readonly string[]
}

/** Suffixes that put a file into another layer than its folder does. */
const PROCESS_TESTS = '**/*.process.test.ts'
const PROOF_TESTS = '**/*.proof.test.ts'

const fast = (name: string, about: string, include: readonly string[], more: Partial<TestPart> = {}): TestPart => ({
  name,
  layer: 'fast',
  about,
  include,
  exclude: [PROCESS_TESTS, PROOF_TESTS],
  // The timeout only ends tests that hang: a busy machine may be ten times slower than an idle one.
  timeoutMs: 300_000,
  setupFiles: ['test/support/fixed-seed.ts'],
  ...more,
})

/** The timeouts of servers are four times as long as a quiet machine needs. */
const servers = (name: string, about: string, include: readonly string[], more: Partial<TestPart> = {}): TestPart => ({
  name,
  layer: 'servers',
  about,
  include,
  exclude: [PROOF_TESTS],
  timeoutMs: 600_000,
  workers: 1,
  ...more,
})

const proof = (name: string, about: string, include: readonly string[], more: Partial<TestPart> = {}): TestPart => ({
  name,
  layer: 'proof',
  about,
  include,
  timeoutMs: 1_800_000,
  workers: 1,
  ...more,
})

/**
 * Units that ban globals of their process, or read a registry that all loaded modules fill. A test file that ran before them in
 * the same process would change their result.
 */
const ISOLATED_UNITS = [
  'packages/adapters/src/deterministic/isolation/forbid-nondeterminism.test.ts',
  'packages/adapters/src/deterministic/workload.test.ts',
  'test/observability/queries.test.ts',
]

/** All parts. `test/architecture` finds test files that belong to no part, or to several. */
export const testParts: readonly TestPart[] = [
  fast(
    'units',
    'units, golden files, the contract suites of ports, and the checkers of the campaigns',
    ['{packages,services,tools,bench}/**/*.test.ts', 'test/{support,crash,chaos,fuzz,model,observability,mutants}/**/*.test.ts'],
    { isolate: false, exclude: [PROCESS_TESTS, PROOF_TESTS, ...ISOLATED_UNITS] },
  ),
  fast('isolated-units', 'units that need a process of their own', ISOLATED_UNITS),
  fast('architecture', 'types, lint, format, dead code, layers, sizes and words', ['test/architecture/**/*.test.ts']),
  fast('simulation', 'fixed seeds, broken markets and crash points, without a real clock', ['test/simulation/**/*.test.ts']),
  fast('market', 'the market through its public door, and one kill -9', ['test/e2e/**/*.test.ts']),

  servers('smoke', 'one sale on Kafka and PostgreSQL with a killed service, and one on lnd and btcd', ['test/smoke/*.test.ts'], {
    programs: ['kafka', 'lightning'],
  }),
  servers('processes', 'code that needs child processes or the clock of the machine', [
    '{packages,services,tools,bench}/**/*.process.test.ts',
    'test/{support,mutants,simulation}/**/*.process.test.ts',
  ]),
  servers(
    'product',
    'audits, rebuilds, access rules and commands of a running market',
    ['test/{e2e,fuzz}/**/*.process.test.ts'],
    {
      globalSetup: 'test/e2e/global-setup.ts',
    },
  ),
  servers('pages', 'the pages in Chromium', ['test/pages/*.test.ts'], { programs: ['chromium'] }),
  servers('postgres', 'the adapters of PostgreSQL', ['test/postgres/*.test.ts'], {
    globalSetup: 'test/postgres/global-setup.ts',
  }),
  servers('kafka', 'the adapter of Kafka', ['test/kafka/*.test.ts'], {
    programs: ['kafka'],
    globalSetup: 'test/kafka/global-setup.ts',
  }),
  servers('kurrentdb', "the adapter of KurrentDB, on a double of the server's protocol", ['test/kurrentdb/*.test.ts']),
  servers('launcher', 'the cluster of npm run cluster', ['test/cluster/*.test.ts'], { programs: ['kafka'] }),
  servers('observability', 'metrics, alert rules, logs and traces', ['test/observability/**/*.process.test.ts'], {
    programs: ['promtool', 'kafka'],
  }),
  servers('lightning', 'lnd and btcd on a network of their own', ['test/lightning/*.test.ts'], {
    programs: ['lightning'],
    workers: 3,
    globalSetup: 'test/lightning/global-setup.ts',
  }),
  servers('image', 'the container image', ['test/deploy/{image*,settings}.test.ts']),
  servers('compose', 'the compose files', ['test/deploy/compose*.test.ts'], { programs: ['compose'] }),
  servers('chart', 'the Helm chart on a real Kubernetes API server', ['test/deploy/{chart,release}*.test.ts'], {
    programs: ['kubernetes'],
  }),
  servers('containers', 'docker-compose.yml on a Docker engine', ['test/deploy/containers/*.test.ts'], {
    programs: ['compose', 'containers'],
    timeoutMs: 900_000,
  }),

  proof('crash', 'a real market is killed at every crash point, and recovers', ['test/crash/*.proof.test.ts']),
  proof('faults', 'the checks of a campaign notice damaged read models', ['test/chaos/chaos.proof.test.ts']),
  proof('outages', 'Kafka and the event store are away', ['test/{chaos/kurrentdb,kafka/*}.proof.test.ts'], {
    programs: ['kafka'],
  }),
  proof('hostile', 'malformed, slow and hostile requests', ['test/fuzz/**/*.proof.test.ts'], { programs: ['schemathesis'] }),
  proof('mutant-runner', 'mutants are killed, survive or hang', ['test/mutants/*.proof.test.ts']),
  proof('model', 'TLC checks the model of the money protocol', ['test/model/*.proof.test.ts'], { programs: ['tlc'] }),
  proof('rollouts', 'a cluster is updated and rolled back while it sells', ['test/cluster/*.proof.test.ts'], {
    programs: ['kafka'],
  }),
  proof('audits', 'a large store is audited, and a forged fact is found', ['test/audits/*.proof.test.ts']),
  proof('load', 'the load generator and its report', ['test/e2e/*.proof.test.ts'], { programs: ['chromium'] }),
]
