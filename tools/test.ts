import { availableParallelism } from 'node:os'
import { suiteGroups, type Suite } from './suites.ts'
import { installPrograms } from './programs.ts'
import { runSuite, type SuiteRun } from './run-suite.ts'
import { runConcurrentJobs } from './concurrent-jobs.ts'

/**
 * `npm test` runs the groups for newcomers, or everything if CI is set. `npm test -- <group or suite> …` runs only these,
 * `npm test -- all` everything. `--list` prints the names, `--times` adds the slowest files.
 */
const ALL = 'all'
const OPTIONS = ['--list', '--times']
const args = process.argv.slice(2)
const requested = args.filter((arg) => !OPTIONS.includes(arg))
const suites = suiteGroups.flatMap((group) => group.suites)
const names = [...new Set([...suiteGroups, ...suites].map(({ name }) => name))]
const unknown = requested.filter((arg) => arg !== ALL && !names.includes(arg))
if (unknown.length > 0) {
  console.error(
    `Unknown group or suite: "${unknown.join('", "')}". Known: ${[...names, ALL].join(', ')}. For a single file: npx vitest run <file>.`,
  )
  process.exitCode = 2
} else if (args.includes('--list')) {
  for (const group of suiteGroups) {
    console.log(`${group.name.padEnd(12)}${group.about}`)
    console.log(`${' '.repeat(12)}suites: ${group.suites.map(({ name }) => name).join(', ')}`)
  }
} else {
  const isWhole = requested.includes(ALL) || (requested.length === 0 && process.env['CI'] !== undefined)
  const chosen = suiteGroups.flatMap((group) => {
    if (isWhole || requested.includes(group.name) || (requested.length === 0 && group.isForNewcomers)) return group.suites
    return group.suites.filter(({ name }) => requested.includes(name))
  })
  await runSuites(chosen)
  const omitted = isWhole || requested.length > 0 ? [] : suiteGroups.filter((group) => !group.isForNewcomers)
  if (omitted.length > 0) console.log(`\nNot run; npm test -- all runs everything:\n${omitted.map(commandOf).join('\n')}`)
}

function commandOf({ name, about }: { readonly name: string; readonly about: string }): string {
  return `  npm test -- ${name.padEnd(12)}${about}`
}

async function runSuites(chosen: readonly Suite[]): Promise<void> {
  const stop = new AbortController()
  process.on('SIGTERM', () => stop.abort()).on('SIGINT', () => stop.abort())
  const needed = chosen.flatMap(({ programs = [] }) => programs)
  const installed = installPrograms(needed, console.log, stop.signal)
  const jobs = chosen.map((suite) => ({
    ...suite,
    ready: Promise.all((suite.programs ?? []).flatMap((program) => installed.get(program) ?? [])).then(() => {}),
  }))
  const isAlone = jobs.length === 1
  const runs = await runConcurrentJobs(
    jobs,
    availableParallelism(),
    async ({ name }) => {
      if (!isAlone) console.log(`${name}: started`)
      const run = await runSuite(
        name,
        isAlone ? undefined : (text) => console.log(`\n--- ${name}\n${text.trim()}\n`),
        stop.signal,
      )
      const { passed, failed, skipped } = run.counts
      console.log(`${name}: ${passed} passed, ${failed} failed, ${skipped.length} skipped in ${run.seconds} s`)
      return run
    },
    stop.signal,
  )
  process.exitCode = printReport(runs) && !stop.signal.aborted ? 0 : 1
}

/** Prints the results. @returns whether tests ran and all of them passed */
function printReport(runs: readonly SuiteRun[]): boolean {
  const passed = runs.reduce((sum, { counts }) => sum + counts.passed, 0)
  const failed = runs.reduce((sum, { counts }) => sum + counts.failed, 0)
  const skipped = runs.flatMap(({ counts }) => counts.skipped)
  const failures = runs.flatMap(({ counts }) => counts.failures)
  const files = runs.flatMap(({ counts }) => counts.files).toSorted((one, other) => other.ms - one.ms)
  const slowest = args.includes('--times') ? files.slice(0, 30) : []
  printList(
    'The slowest files',
    slowest.map(({ file, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`),
  )
  printList('Skipped', skipped)
  printList('Failed', failures)
  if (passed + failed === 0) console.log('\nNo test ran, which counts as a failure.')
  console.log(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped`)
  return failed === 0 && passed > 0
}

function printList(title: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log(`\n${title}:\n${lines.map((line) => `  ${line}`).join('\n')}`)
}
