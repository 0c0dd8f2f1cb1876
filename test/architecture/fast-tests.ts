import { matchesGlob } from 'node:path'
import { testParts } from '../../tools/parts.ts'
import { resolveImport } from './paths.ts'
import type { Source } from './source.ts'

/** Texts that make a test slow, or make its result depend on the machine, the time or chance; each with its mend. */
const BANNED: readonly (readonly [RegExp, string])[] = [
  [/\bDate\.now\(|\bnew Date\(\)/, 'reads the wall clock: use a fixed time, or the clock of the fixture'],
  [
    /\bperformance\.now\(|\bprocess\.hrtime\b/,
    'measures real time: assert on an injected clock, or move it to a .process.test.ts file',
  ],
  [
    /\bset(?:Timeout|Interval)\(|node:timers/,
    'waits for real time: wait for a condition by waitUntil of the testkit, or inject a clock',
  ],
  [
    /\bAbortSignal\.timeout\(/,
    'gives up after real time: abort the signal at the end of the test, or use withTimeout with an injected clock',
  ],
  [/\bvi\.wait(?:For|Until)\(/, 'waits for one second at most: use waitUntil of the testkit'],
  [/\bMath\.random\(|\brandomInt\(/, 'draws a new value in each run: use a fixed value, or createPrng with a fixed seed'],
  [
    /node:child_process|node:cluster|node:worker_threads|\b(?:start|run)Program|\brunSuccessfully|\b(?:start|spawn)Product\(/,
    'starts a process: move it to a .process.test.ts file, or list it in fast-tests.ts',
  ],
  [/\bstart(?:Cluster|Regtest)\(|playwright-core/, 'needs a server or a browser: move it to a part of the layer of servers'],
]

/** Fast tests and their helpers that may use banned texts, with the reason. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ['packages/testkit/src/wait-until.ts', 'polls a condition, with a generous limit'],
  ['packages/adapters/src/deterministic/isolation/forbid-nondeterminism.test.ts', 'tests that these calls are refused'],
  ['test/architecture/checks.test.ts', 'runs the compiler and the linters'],
  ['test/architecture/fast-tests.test.ts', 'contains the banned texts as samples'],
  ['test/architecture/fast-tests.ts', 'contains the patterns of the banned texts'],
  ['test/architecture/vocabulary.test.ts', 'reads the subjects of commits from git'],
  ['test/architecture/wall-clock.test.ts', 'contains banned texts as samples'],
  ['test/architecture/wall-clock.ts', 'contains the pattern of the monotonic clock'],
  ['test/e2e/market.test.ts', 'the market end to end through its public door, with one kill -9'],
  ['test/simulation/pool.ts', 'runs the simulation in worker processes; tests give its tasks no time limit'],
  ['test/support/git.ts', 'lists the files of the checkout for the tests of the architecture'],
  ['test/support/processes.ts', 'starts git, the compiler and the linters, and the market of the end-to-end test'],
  ['test/support/product.ts', 'starts the market of the end-to-end test'],
])

const fastParts = testParts.filter(({ layer }) => layer === 'fast')

/** Fixtures and contract suites run in the fast layer, too. */
const isFast = (path: string): boolean =>
  /^(?:packages|services)\/.*\.(?:fixture|contract)\.ts$/.test(path) ||
  fastParts.some(
    ({ include, exclude = [] }) =>
      include.some((glob) => matchesGlob(path, glob)) && !exclude.some((glob) => matchesGlob(path, glob)),
  )

/** Helpers of tests. The code of the product gets its clock from its caller, so the rule does not follow its imports. */
const isHelper = (path: string): boolean =>
  /^(?:test|packages\/testkit)\//.test(path) || /^(?:packages|services)\/.*\.(?:fixture|contract|child)\.ts$/.test(path)

/** @returns all fast tests and the helpers that they load, each with the file that imports it; undefined for fast tests */
function findImporters(sources: readonly Source[]): ReadonlyMap<string, string | undefined> {
  const byPath = new Map(sources.map((source) => [source.path, source]))
  const paths = new Set(byPath.keys())
  const importers = new Map<string, string | undefined>()
  for (const { path } of sources) if (isFast(path)) importers.set(path, undefined)
  // A map visits the entries that are added during its iteration.
  for (const path of importers.keys())
    for (const { specifier, isTypeOnly } of byPath.get(path)?.imports ?? [])
      for (const imported of isTypeOnly ? [] : resolveImport(path, specifier, paths))
        if (isHelper(imported) && !importers.has(imported)) importers.set(imported, path)
  return importers
}

/** Describes the imports from a fast test to a helper. @returns an empty text for a fast test */
function describeImports(path: string, importers: ReadonlyMap<string, string | undefined>): string {
  const chain: string[] = []
  for (let importer = importers.get(path); importer !== undefined; importer = importers.get(importer)) chain.push(importer)
  if (chain.length === 0) return ''
  return `; or move the part that fast tests load to a file of its own (loaded by ${chain.join(' <- ')})`
}

const findBannedLines = ({ path, text }: Source): readonly string[] =>
  text
    .split('\n')
    .flatMap((line, index) => BANNED.filter(([pattern]) => pattern.test(line)).map(([, mend]) => `${path}:${index + 1} ${mend}`))

/** Finds lines of fast tests and their helpers that could give another answer on a busy machine or in another run. */
export function findFastTestBreaches(sources: readonly Source[]): readonly string[] {
  const importers = findImporters(sources)
  return sources
    .filter(({ path }) => importers.has(path) && !EXCEPTIONS.has(path))
    .flatMap((source) => findBannedLines(source).map((line) => `${line}${describeImports(source.path, importers)}`))
}

/** Finds exceptions whose file has no banned text any more, or which no fast test loads. */
export function findUnusedFastExceptions(sources: readonly Source[]): readonly string[] {
  const importers = findImporters(sources)
  const used = new Set(
    sources.filter((source) => importers.has(source.path) && findBannedLines(source).length > 0).map(({ path }) => path),
  )
  return [...EXCEPTIONS.keys()]
    .filter((path) => !used.has(path))
    .map((path) => `${path} needs no exception: remove it from fast-tests.ts`)
}
