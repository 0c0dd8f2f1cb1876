import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { optionsOf } from '../harness/options.ts'
import { seedOf } from './random.ts'

export type Counts = Readonly<Record<string, number>>

/** What each round tells, of whatever it struck. */
export type Report = {
  readonly round: number
  readonly seconds: number
  /** Who was told an invoice. */
  readonly invoices: number
  /** What those heard last who were told none. */
  readonly refusals: readonly string[]
  /** Orders by status, of all rounds so far, and what else is counted. */
  readonly statuses: Counts
  /** What was to go wrong. */
  readonly plan: readonly string[]
  readonly faults: readonly string[]
}

/** A command that strikes something again and again. */
export type Command<One extends Report, Store extends string = string> = {
  /** As npm knows it. */
  readonly script: string
  /** Where nobody says how many, and at the most. */
  readonly rounds: { readonly standard: number; readonly most: number; readonly perFolder?: number }
  /** Why it cannot run here. */
  readonly missing?: string | undefined
  /** Where facts may be; the first where nobody says. */
  readonly stores?: readonly Store[]
  readonly campaign: (dataDir: string, seed: number, rounds: number, store?: Store) => AsyncIterable<One>
  /** What struck, for a round's line. */
  readonly struck: (report: One) => string
  /** What a run without faults has not done, and so says nothing of. */
  readonly lacking?: (reports: readonly One[]) => readonly string[]
}

/** Does what `npm run <script> -- --rounds N [--seed N]` asks for, and ends the process: with 1 at the first fault. */
export async function runCommand<One extends Report, Store extends string>(command: Command<One, Store>): Promise<never> {
  const { script, rounds: allowed, missing, stores = [] } = command
  const usage = `Use: npm run ${script} -- [--rounds <1 to ${allowed.most}>] [--seed <whole number>]${stores.length > 0 ? ` [--store <${stores.join(' or ')}>]` : ''}; ${allowed.standard} rounds where you do not say`
  const values = optionsOf({ rounds: { type: 'string' }, seed: { type: 'string' }, store: { type: 'string' } }, usage)
  const rounds = Number(values.rounds ?? allowed.standard)
  const seed = Number(values.seed ?? Date.now() % 2 ** 31)
  const store = stores.find((one) => one === values.store)
  const isStore = values.store === undefined || store !== undefined
  const isRight =
    isStore && Number.isInteger(rounds) && rounds >= 1 && rounds <= allowed.most && Number.isInteger(seed) && seed >= 0
  if (!isRight || missing !== undefined) {
    console.error(missing ?? usage)
    process.exit(2)
  }
  // Ending this way takes along whatever runs.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  process.exit((await areClean(command, rounds, seed, store)) ? 0 : 1)
}

/** A fresh folder now and then, since every round reads the whole log. The first folder's seed is the one that was given. */
async function areClean<One extends Report, Store extends string>(
  command: Command<One, Store>,
  rounds: number,
  seed: number,
  store: Store | undefined,
): Promise<boolean> {
  const { script, struck, lacking, rounds: allowed } = command
  const perFolder = allowed.perFolder ?? rounds
  const reports: One[] = []
  for (let done = 0; done < rounds; done += perFolder) {
    const folderSeed = done === 0 ? seed : seedOf(seed, -done)
    const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
    const count = Math.min(perFolder, rounds - done)
    console.log(`seed ${folderSeed}: ${count} rounds in ${dataDir}`)
    for await (const report of command.campaign(dataDir, folderSeed, count, store)) {
      reports.push(report)
      console.log(`round ${done + report.round}/${rounds}  ${told(report, struck(report))}`)
      if (report.refusals.length > 0) console.log(`  refused: ${shown(counted(report.refusals))}`)
      if (report.faults.length === 0) continue
      console.log(['', ...report.plan, '', ...report.faults, '', `The data stays in ${dataDir}.`].join('\n'))
      console.log(
        `Again: npm run ${script} -- --rounds ${report.round} --seed ${folderSeed}${store === undefined ? '' : ` --store ${store}`}`,
      )
      return false
    }
    rmSync(dataDir, { recursive: true, force: true })
  }
  const lacks = lacking?.(reports) ?? []
  console.log([...lacks, `${rounds} rounds without a fault${lacks.length === 0 ? '.' : ', which prove too little.'}`].join('\n'))
  return lacks.length === 0
}

const told = ({ seconds, invoices, faults, statuses }: Report, struck: string): string =>
  [`${seconds.toFixed(1)} s`, struck, `${invoices} bought`, `${faults.length} faults`, shown(statuses)]
    .filter((part) => part !== '')
    .join('  ')

export const shown = (counts: Counts): string =>
  Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')

/** How often each name is in a list. */
export function counted(names: readonly string[]): Counts {
  const counts: Record<string, number> = {}
  for (const name of names.toSorted()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
