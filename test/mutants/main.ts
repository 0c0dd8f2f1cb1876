import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { optionsOf } from '../harness/options.ts'
import { mutants } from './all.ts'
import { root } from './copy.ts'
import { hunt, isKilled } from './hunt.ts'
import { areas } from './mutant.ts'
import { endAll } from './run-tests.ts'
import { page, row, summary } from './table.ts'

/** `npm run mutants [-- --area <area>] [--id <mutant>] [--list] [--write]`: ends with 1 where a mutant survives, with 2 where that could not be tried. */
const USAGE = `Use: npm run mutants [-- --area <area> | --id <mutant>] [--jobs <at once>] [--list] [--write]; --write needs all mutants, and that none survives.
Areas: ${areas.join(', ')}. The mutants: npm run mutants -- --list.`
const values = optionsOf(
  {
    area: { type: 'string' },
    id: { type: 'string' },
    jobs: { type: 'string', default: `${availableParallelism()}` },
    list: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
  USAGE,
)
const jobs = Number(values.jobs)
const chosen = mutants.filter(
  ({ id, area }) => (values.area === undefined || area === values.area) && (values.id === undefined || id === values.id),
)
if (chosen.length === 0 || !Number.isInteger(jobs) || jobs < 1 || (values.write && chosen.length < mutants.length)) {
  console.error(USAGE)
  process.exit(2)
}
if (values.list) {
  for (const { id, area, wrong } of chosen) console.log(`${id.padEnd(34)}  ${area.padEnd(10)}  ${wrong}`)
} else {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      stop.abort()
      endAll()
    })
  await catchThem(stop.signal)
  if (stop.signal.aborted) process.exitCode = 130
}

async function catchThem(signal: AbortSignal): Promise<void> {
  console.log(`${chosen.length} mutants, ${Math.min(jobs, chosen.length)} at a time; first their tests run without any.`)
  try {
    const verdicts = await hunt(chosen, jobs, (verdict) => console.log(row(verdict)), signal)
    if (signal.aborted) return
    console.log(`\n${summary(verdicts)}`)
    const allKilled = verdicts.every(isKilled)
    if (!allKilled) process.exitCode = 1
    if (values.write && allKilled) writeFileSync(join(root, 'docs/mutants.md'), page(verdicts))
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 2
  }
}
