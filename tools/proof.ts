import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProgram } from '../test/support/processes.ts'
import { addTestCounts, formatTestCounts, type TestCounts } from '../test/support/test-counts.ts'
import { installPrograms } from './programs.ts'
import { proofParts, TEST_RUNNER, type ProofPart } from './proof-parts.ts'
import { formatResults, parseResults, type ProofResult, readCounts, readSeeds, replaceResult } from './proof-results.ts'

/**
 * `npm run proof [-- <part> …] [--short]` runs the campaigns, one part after the other, and adds each result to proof.json.
 * `--short` takes some minutes for each part. With a single part, further options go to its program: `--rounds 50 --seed 7`.
 */
const root = join(import.meta.dirname, '..')
const RESULTS = join(root, 'proof.json')

const args = process.argv.slice(2)
const names = proofParts.map(({ name }) => name)
const requested = args.filter((arg) => names.includes(arg))
const isShort = args.includes('--short')
const rest = args.filter((arg) => arg !== '--short' && !names.includes(arg))
const usage = `npm run proof [-- <part> …] [--short] [--list]; parts: ${names.join(', ')}. Options of a single part follow its name.`
if (requested.length === 0 && rest.join() === '--help') console.log(usage)
else if (requested.length === 0 && rest.join() === '--list')
  for (const { name, about } of proofParts) console.log(`${name.padEnd(18)}${about}`)
else if (rest.length > 0 && requested.length !== 1) {
  console.error(`Unknown part: "${rest.join('", "')}". ${usage}`)
  process.exitCode = 2
} else if (rest.length > 0) await runWithOptions(proofParts.find(({ name }) => name === requested[0]))
else await runAll(proofParts.filter(({ name }) => requested.length === 0 || requested.includes(name)))

async function runAll(parts: readonly ProofPart[]): Promise<void> {
  const stop = new AbortController()
  process.once('SIGTERM', () => stop.abort()).once('SIGINT', () => stop.abort())
  const installed = installPrograms(
    parts.flatMap(({ programs = [] }) => programs),
    console.log,
    stop.signal,
  )
  const results: ProofResult[] = []
  for (const part of parts) {
    for (const program of part.programs ?? []) await installed.get(program)
    if (stop.signal.aborted) break
    console.log(`\n--- ${part.name}: ${part.about}`)
    const result = await runPart(part, stop.signal)
    if (stop.signal.aborted) break
    results.push(result)
    writeFileSync(RESULTS, formatResults(replaceResult(readResults(), result)))
    console.log(`${part.name}: ${formatTestCounts(result)} in ${result.seconds} s`)
  }
  const total = addTestCounts(results)
  console.log(`\n${formatTestCounts(total)}`)
  process.exitCode = total.failed === 0 && total.passed > 0 && !stop.signal.aborted ? 0 : 1
}

/** Runs the campaign of a part with the caller's options. Such a run is not comparable, so proof.json does not get its result. */
async function runWithOptions(part: ProofPart | undefined): Promise<void> {
  const [campaign] = part?.runs ?? []
  if (campaign === undefined || campaign.script === TEST_RUNNER) {
    console.error(`The part "${part?.name ?? ''}" takes no options. ${usage}`)
    process.exitCode = 2
    return
  }
  const stop = new AbortController()
  process.once('SIGTERM', () => stop.abort()).once('SIGINT', () => stop.abort())
  for (const ready of installPrograms(part?.programs ?? [], console.log, stop.signal).values()) await ready
  const { ended } = startProgram(process.execPath, ['--no-warnings', join(root, campaign.script), ...rest], {
    cwd: root,
    signal: stop.signal,
    stdio: 'inherit',
  })
  process.exitCode = (await ended).code ?? 1
}

async function runPart({ name, runs }: ProofPart, signal: AbortSignal): Promise<ProofResult> {
  const startedAtMs = performance.now()
  const counts: TestCounts[] = []
  const seeds: string[] = []
  for (const { script, full, short = full } of runs.filter((run) => !isShort || run.short !== undefined)) {
    if (signal.aborted) break
    const options = isShort ? short : full
    const { child, output, ended } = startProgram(process.execPath, ['--no-warnings', join(root, script), ...options], {
      cwd: root,
      signal,
      env: { ...process.env, ...(isShort && { PENSTOCK_PROOF_SHORT: '1' }) },
    })
    for (const stream of [child.stdout, child.stderr]) stream?.pipe(process.stdout, { end: false })
    const { code } = await ended
    seeds.push(...readSeeds(output()))
    counts.push(readCounts(output(), code))
  }
  return {
    part: name,
    short: isShort,
    seeds: [...new Set(seeds)],
    ...addTestCounts(counts),
    seconds: Math.round((performance.now() - startedAtMs) / 1000),
    finished_at: new Date().toISOString(),
  }
}

function readResults(): readonly ProofResult[] {
  try {
    return parseResults(readFileSync(RESULTS, 'utf8'))
  } catch {
    return []
  }
}
