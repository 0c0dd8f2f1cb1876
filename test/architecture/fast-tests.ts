import { matchesGlob } from 'node:path'
import { testParts } from '../../tools/parts.ts'

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
  [/\bvi\.wait(?:For|Until)\(/, 'waits for one second at most: use waitUntil of the testkit'],
  [/\bMath\.random\(|\brandomInt\(/, 'draws a new value in each run: use a fixed value, or createPrng with a fixed seed'],
  [
    /node:child_process|node:cluster|node:worker_threads|\b(?:start|run)Program|\brunSuccessfully|\b(?:start|spawn)Product\(/,
    'starts a process: move it to a .process.test.ts file, or list it in fast-tests.ts',
  ],
  [/\bstart(?:Cluster|Regtest)\(|playwright-core/, 'needs a server or a browser: move it to a part of the layer of servers'],
]

/** Fast files that may use banned texts, with the reason. */
const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  ['test/e2e/market.test.ts', 'the market end to end through its public door, with one kill -9'],
  ['test/architecture/checks.test.ts', 'runs the compiler and the linters'],
  ['test/architecture/vocabulary.test.ts', 'reads the subjects of commits from git'],
  ['test/architecture/fast-tests.test.ts', 'contains the banned texts as samples'],
  ['test/architecture/wall-clock.test.ts', 'contains banned texts as samples'],
  ['packages/adapters/src/deterministic/isolation/forbid-nondeterminism.test.ts', 'tests that these calls are refused'],
])

const fastParts = testParts.filter(({ layer }) => layer === 'fast')

/** Fixtures and contract suites run in the fast layer, too. */
const isFast = (path: string): boolean =>
  /^(?:packages|services)\/.*\.(?:fixture|contract)\.ts$/.test(path) ||
  fastParts.some(
    ({ include, exclude = [] }) =>
      include.some((glob) => matchesGlob(path, glob)) && !exclude.some((glob) => matchesGlob(path, glob)),
  )

type FileText = { readonly path: string; readonly text: string }

const findBannedLines = ({ path, text }: FileText): readonly string[] =>
  text
    .split('\n')
    .flatMap((line, index) => BANNED.filter(([pattern]) => pattern.test(line)).map(([, mend]) => `${path}:${index + 1} ${mend}`))

/** Finds lines of fast tests that could give another answer on a busy machine or in another run. */
export const findFastTestBreaches = (files: readonly FileText[]): readonly string[] =>
  files.filter(({ path }) => isFast(path) && !EXCEPTIONS.has(path)).flatMap(findBannedLines)

/** Finds exceptions whose file has no banned text any more. */
export const findUnusedFastExceptions = (files: readonly FileText[]): readonly string[] =>
  [...EXCEPTIONS.keys()].filter((path) => !files.some((file) => file.path === path && findBannedLines(file).length > 0))
