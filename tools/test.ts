import { availableParallelism } from 'node:os'
import { parts, type Suite } from './parts.ts'
import { installPrograms } from './programs.ts'
import { runSuite } from './run-suite.ts'
import { runSideBySide } from './schedule.ts'

/** `npm test`: all suites, side by side. `npm test -- <part or suite> …`: these. `npm test -- --list`: their names. */
const args = process.argv.slice(2)
const suites = parts.flatMap((part) => part.suites)
const names = [...new Set([...parts, ...suites].map(({ name }) => name))]
const unknown = args.filter((arg) => arg !== '--list' && !names.includes(arg))
if (unknown.length > 0) {
  console.error(
    `There is no part or suite "${unknown.join('", "')}". There are: ${names.join(', ')}. For a single file: npx vitest run <file>.`,
  )
  process.exitCode = 2
} else if (args.includes('--list')) {
  for (const part of parts) {
    console.log(`${part.name.padEnd(12)}${part.about}`)
    console.log(`${' '.repeat(12)}suites: ${part.suites.map(({ name }) => name).join(', ')}`)
  }
} else {
  const isAsked = ({ name }: { readonly name: string }): boolean => args.length === 0 || args.includes(name)
  await runSuites(parts.flatMap((part) => (isAsked(part) ? part.suites : part.suites.filter(isAsked))))
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
  const runs = await runSideBySide(
    jobs,
    availableParallelism(),
    async ({ name }) => {
      if (!isAlone) console.log(`${name}: begun`)
      const run = await runSuite(
        name,
        isAlone ? undefined : (text) => console.log(`\n--- ${name}\n${text.trim()}\n`),
        stop.signal,
      )
      const { passed, failed, skipped } = run.tally
      console.log(`${name}: ${passed} passed, ${failed} failed, ${skipped.length} skipped in ${run.seconds} s`)
      return run
    },
    stop.signal,
  )
  const passed = runs.reduce((sum, { tally }) => sum + tally.passed, 0)
  const failed = runs.reduce((sum, { tally }) => sum + tally.failed, 0)
  const skipped = runs.flatMap(({ tally }) => tally.skipped)
  if (skipped.length > 0) console.log(`\nSkipped:\n${skipped.map((name) => `  ${name}`).join('\n')}`)
  if (passed + failed === 0) console.log('\nNo test ran, which counts as a failure.')
  console.log(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped`)
  process.exitCode = failed > 0 || passed === 0 || stop.signal.aborted ? 1 : 0
}
