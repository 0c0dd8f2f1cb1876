import { installPrograms } from './programs.ts'
import { type LayerName, type TestPart, testParts } from './parts.ts'
import { formatTestCounts } from '../test/support/test-counts.ts'
import { runParts } from './run-parts.ts'
import { addResults, noResults, type TestResults } from './test-results.ts'

/**
 * `npm test [-- <part> …]` runs the fast layer, and `npm run test:servers [-- <part> …]` the layer of real servers.
 * `--list` prints the parts, and `--times` the slowest files. The test files of the third layer run by `npm run proof`.
 */
const OPTIONS = ['--list', '--times']
const [layerArgument, ...args] = process.argv.slice(2)
const layers: readonly LayerName[] = ['fast', 'servers', 'proof']
const layer = layers.find((name) => name === layerArgument)
if (layer === undefined) throw new Error(`The first argument has to be a layer: ${layers.join(', ')}.`)
const requested = args.filter((arg) => !OPTIONS.includes(arg))
const parts = testParts.filter((part) => part.layer === layer)
const unknown = requested.filter((arg) => !parts.some(({ name }) => name === arg))
if (unknown.length > 0) {
  const known = parts.map(({ name }) => name).join(', ')
  console.error(`Unknown part: "${unknown.join('", "')}". Known: ${known}. For a single file: npx vitest run <file>.`)
  process.exitCode = 2
} else if (args.includes('--list')) {
  for (const { name, about } of parts) console.log(`${name.padEnd(15)}${about}`)
} else {
  await runLayer(parts.filter(({ name }) => requested.length === 0 || requested.includes(name)))
}

async function runLayer(chosen: readonly TestPart[]): Promise<void> {
  const stop = new AbortController()
  process.once('SIGTERM', () => stop.abort()).once('SIGINT', () => stop.abort())
  const results = layer === 'servers' ? await runServerParts(chosen, stop.signal) : await runParts(chosen)
  printReport(results)
  process.exitCode = results.failures.length === 0 && results.passed > 0 && !stop.signal.aborted ? 0 : 1
}

/** Runs one part at a time. The programs of later parts are installed in the meantime. */
async function runServerParts(chosen: readonly TestPart[], signal: AbortSignal): Promise<TestResults> {
  const installed = installPrograms(
    chosen.flatMap(({ programs = [] }) => programs),
    console.log,
    signal,
  )
  let results = noResults
  for (const part of chosen) {
    for (const program of part.programs ?? []) await installed.get(program)
    if (signal.aborted) return results
    console.log(`\n--- ${part.name}: ${part.about}`)
    results = addResults(results, await runParts([part], { retriesFailedFiles: true }))
  }
  return results
}

function printReport({ passed, failures, skipped, flaky, files }: TestResults): void {
  const slowest = files.toSorted((one, other) => other.ms - one.ms).slice(0, args.includes('--times') ? 30 : 0)
  printList(
    'The slowest files',
    slowest.map(({ file, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`),
  )
  printList('Skipped', skipped)
  printList('Failed', failures)
  for (const test of flaky) console.log(`flaky: ${test.replace(' > ', ' ')}`)
  if (passed + failures.length === 0) console.log('\nNo test ran, which counts as a failure.')
  if (flaky.length > 0) console.log(`${flaky.length} flaky, passed at the second try`)
  console.log(`\n${formatTestCounts({ passed, failed: failures.length, skipped: skipped.length })}`)
}

function printList(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${title}:\n${lines.map((line) => `  ${line}`).join('\n')}`)
}
