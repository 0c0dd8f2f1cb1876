import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseCommandOptions } from '../support/options.ts'
import { formatTestCounts } from '../support/test-counts.ts'
import { type CountsByName, countNames, formatCounts } from './counts.ts'
import { deriveSeed } from './random.ts'

/** The part of a round's report that every kind of campaign has. */
export type ChaosReport = {
  readonly round: number
  readonly seconds: number
  /** The number of buyers that got an invoice. */
  readonly invoiceCount: number
  /** The last refusal of each buyer without an invoice. */
  readonly refusals: readonly string[]
  /** The number of orders of all rounds so far by status, and other counts. */
  readonly statuses: CountsByName
  /** Descriptions of the planned faults. */
  readonly plannedFaults: readonly string[]
  readonly violations: readonly string[]
}

/** A command that runs a campaign, which is a series of rounds of fault injection. */
export type ChaosCommand<One extends ChaosReport, Store extends string = string> = {
  /** The name of the part of `npm run proof`. */
  readonly script: string
  /** The default number of rounds, the largest number, and the number after which a new data folder is used. */
  readonly rounds: { readonly standard: number; readonly max: number; readonly perFolder?: number }
  /** The reason why the command cannot run here. */
  readonly skipReason?: string | undefined
  /** The event stores to choose from; the first is the default. */
  readonly storeNames?: readonly Store[]
  readonly campaign: (dataDir: string, seed: number, rounds: number, store?: Store) => AsyncIterable<One>
  /** Describes the injected faults in the log line of a round. */
  readonly describeCoverage: (report: One) => string
  /** @returns a sentence for each required event that never occurred */
  readonly findMissingCoverage?: (reports: readonly One[]) => readonly string[]
}

/** Runs the command, and exits with 0, with 1 after a violation or with incomplete coverage, or with 2 if it cannot run. */
export async function runChaosCommand<One extends ChaosReport, Store extends string>(
  command: ChaosCommand<One, Store>,
): Promise<never> {
  const { script, rounds: roundLimits, skipReason, storeNames = [] } = command
  const usage = `Usage: npm run proof -- ${script} [--rounds <1 to ${roundLimits.max}>] [--seed <whole number>]${storeNames.length > 0 ? ` [--store <${storeNames.join(' or ')}>]` : ''}; default: ${roundLimits.standard} rounds`
  const values = parseCommandOptions({ rounds: { type: 'string' }, seed: { type: 'string' }, store: { type: 'string' } }, usage)
  const rounds = Number(values.rounds ?? roundLimits.standard)
  const seed = Number(values.seed ?? Date.now() % 2 ** 31)
  const store = storeNames.find((one) => one === values.store)
  const isKnownStore = values.store === undefined || store !== undefined
  const isValid =
    isKnownStore && Number.isInteger(rounds) && rounds >= 1 && rounds <= roundLimits.max && Number.isInteger(seed) && seed >= 0
  if (!isValid || skipReason !== undefined) {
    console.error(skipReason ?? usage)
    process.exit(2)
  }
  // An exit of this process also ends its child processes.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  process.exit((await runAllRounds(command, rounds, seed, store)) ? 0 : 1)
}

/**
 * Runs the rounds, with a new data folder after every `perFolder` rounds. Every round reads the whole log, so a growing log would
 * slow the rounds down. The first folder uses the given seed. @returns whether coverage is complete, without violations
 */
async function runAllRounds<One extends ChaosReport, Store extends string>(
  command: ChaosCommand<One, Store>,
  rounds: number,
  seed: number,
  store: Store | undefined,
): Promise<boolean> {
  const { script, describeCoverage, findMissingCoverage, rounds: roundLimits } = command
  const perFolder = roundLimits.perFolder ?? rounds
  const reports: One[] = []
  for (let roundsDone = 0; roundsDone < rounds; roundsDone += perFolder) {
    const folderSeed = roundsDone === 0 ? seed : deriveSeed(seed, -roundsDone)
    const dataDir = mkdtempSync(join(tmpdir(), 'penstock-faults-'))
    const count = Math.min(perFolder, rounds - roundsDone)
    console.log(`seed ${folderSeed}: ${count} rounds in ${dataDir}`)
    for await (const report of command.campaign(dataDir, folderSeed, count, store)) {
      reports.push(report)
      console.log(`round ${roundsDone + report.round}/${rounds}  ${formatRound(report, describeCoverage(report))}`)
      if (report.refusals.length > 0) console.log(`  refused: ${formatCounts(countNames(report.refusals))}`)
      if (report.violations.length === 0) continue
      console.log(['', ...report.plannedFaults, '', ...report.violations, '', `The data stays in ${dataDir}.`].join('\n'))
      console.log(
        `To repeat: npm run proof -- ${script} --rounds ${report.round} --seed ${folderSeed}${store === undefined ? '' : ` --store ${store}`}`,
      )
      printCounts(reports.length - 1, 1)
      return false
    }
    rmSync(dataDir, { recursive: true, force: true })
  }
  const missingCoverage = findMissingCoverage?.(reports) ?? []
  console.log(
    [
      ...missingCoverage,
      `${rounds} rounds without a fault${missingCoverage.length === 0 ? '.' : ', but with incomplete coverage.'}`,
    ].join('\n'),
  )
  printCounts(reports.length, missingCoverage.length)
  return missingCoverage.length === 0
}

const printCounts = (passed: number, failed: number): void => console.log(`\n${formatTestCounts({ passed, failed, skipped: 0 })}`)

const formatRound = ({ seconds, invoiceCount, violations, statuses }: ChaosReport, coverage: string): string =>
  [`${seconds.toFixed(1)} s`, coverage, `${invoiceCount} bought`, `${violations.length} faults`, formatCounts(statuses)]
    .filter((text) => text !== '')
    .join('  ')
