import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPrograms, type ProgramName } from './programs.ts'
import { startProgram } from '../test/support/processes.ts'
import { addTestCounts, formatTestCounts, readTestCounts, type TestCounts } from '../test/support/test-counts.ts'

/**
 * `npm run proof [-- <part> …] [--short]` runs the campaigns, one part after the other, and adds each result to proof.json.
 * `--short` takes some minutes for each part. With a single part, further options go to its program: `--rounds 50 --seed 7`.
 */
type ProofPart = {
  readonly name: string
  readonly about: string
  readonly programs?: readonly ProgramName[]
  /** The programs of the part, with their options. A short run omits a program without `short`. Each ends with a line of counts. */
  readonly runs: readonly { readonly script: string; readonly full: readonly string[]; readonly short?: readonly string[] }[]
}

const root = join(import.meta.dirname, '..')
const RESULTS = join(root, 'proof.json')

const campaign = (script: string, full: readonly string[], short?: readonly string[]): ProofPart['runs'][number] => ({
  script,
  full,
  ...(short && { short }),
})
const TEST_RUNNER = 'tools/test.ts'
/** Test files of the part with this name in tools/parts.ts. */
const tests = (part: string): ProofPart['runs'][number] => ({
  script: TEST_RUNNER,
  full: ['proof', part],
  short: ['proof', part],
})

const proofParts: readonly ProofPart[] = [
  {
    name: 'simulation',
    about: 'random seeds of the deterministic simulation',
    runs: [campaign('test/simulation/main.ts', ['--seeds', '2000'], ['--seeds', '150'])],
  },
  {
    name: 'faults',
    about: 'a market in one process with kill -9, bad sellers and re-organisations',
    runs: [campaign('test/chaos/main.ts', ['--rounds', '50'], ['--rounds', '8']), tests('faults')],
  },
  {
    name: 'faults-cluster',
    about: 'a cluster whose services and servers are killed and frozen',
    programs: ['kafka'],
    runs: [campaign('test/chaos/cluster/main.ts', ['--rounds', '20'], ['--rounds', '1'])],
  },
  {
    name: 'faults-lightning',
    about: 'a market on real lnd nodes with kills and re-organisations',
    programs: ['lightning'],
    runs: [campaign('test/chaos/lightning/main.ts', ['--rounds', '20'], ['--rounds', '3'])],
  },
  { name: 'crash', about: 'a market is killed at every crash point, and recovers', runs: [tests('crash')] },
  {
    name: 'hostile',
    about: 'malformed, slow and hostile requests',
    programs: ['schemathesis'],
    runs: [campaign('test/fuzz/main.ts', ['--runs', '50000'], ['--runs', '2000']), tests('hostile')],
  },
  {
    name: 'mutants',
    about: 'the tests notice planted mistakes',
    runs: [campaign('test/mutants/main.ts', [], ['--area', 'guard']), tests('mutant-runner')],
  },
  {
    name: 'model',
    about: 'TLC checks the model of the money protocol',
    programs: ['tlc'],
    runs: [campaign('test/model/main.ts', []), tests('model')],
  },
  { name: 'rollouts', about: 'a cluster is updated while it sells', programs: ['kafka'], runs: [tests('rollouts')] },
  { name: 'outages', about: 'servers of a cluster are away', programs: ['kafka'], runs: [tests('outages')] },
  { name: 'load', about: 'the load generator and its report', programs: ['chromium'], runs: [tests('load')] },
  { name: 'audits', about: 'audits of a large store', runs: [tests('audits')] },
]

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

type ProofResult = TestCounts & {
  readonly part: string
  readonly short: boolean
  readonly seeds: readonly number[]
  readonly seconds: number
  readonly finished_at: string
}

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
    writeResult(result)
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
  const seeds: number[] = []
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
    seeds.push(...[...output().matchAll(/^seed (\d+)\b/gm)].map(([, seed]) => Number(seed)))
    counts.push(countsOf(output(), code))
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

/** A program that fails without a failed unit, or prints no counts, counts as one failure. */
function countsOf(output: string, code: number | null): TestCounts {
  const counts = readTestCounts(output)
  if (counts === undefined) return { passed: 0, failed: 1, skipped: 0 }
  return code === 0 || counts.failed > 0 ? counts : { ...counts, failed: 1 }
}

/** Replaces the part's earlier result in proof.json, so that parts of several runs add up. */
function writeResult(result: ProofResult): void {
  const others = readResults().filter(({ part, short }) => part !== result.part || short !== result.short)
  writeFileSync(RESULTS, `${JSON.stringify([...others, result], null, 2)}\n`)
}

function readResults(): readonly ProofResult[] {
  try {
    return JSON.parse(readFileSync(RESULTS, 'utf8')) as ProofResult[] // This program wrote it.
  } catch {
    return []
  }
}
