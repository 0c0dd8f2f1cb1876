import { measureDurations, openJsonClient } from '../callers.ts'
import type { BenchmarkRow } from '../harness.ts'

/** A step ends when the market has handled the command `ends`. The market logs each handled command with its order and time. */
const STEPS = [
  { ends: 'RequestQuote', description: 'request read, quote decided and stored' },
  { ends: 'PlaceOrder', description: 'quote published, order decided and stored' },
  { ends: 'IssueHold', description: 'order published, hold decided and stored' },
  { ends: 'RecordIssued', description: "buyer's node reached, invoice made and stored" },
  { ends: 'RecordHoldIssued', description: 'hold published, order told and stored' },
] as const
const LAST_STEP = 'order published, view written, caller answered'

type CallerLoad = { readonly callers: number; readonly calls: number; readonly rounds: number }
type TimedCall = { readonly order: string; readonly startedAt: number; readonly endedAt: number }

/** Measures the steps of `buy` from the log times of each order's commands. The figures are means per round, in milliseconds. */
export async function measureBuySteps(
  { callers, calls, rounds }: CallerLoad,
  body: string,
  url: string,
  output: () => string,
): Promise<readonly BenchmarkRow[]> {
  const { call, close } = openJsonClient(url, callers)
  const createCaller = (round: TimedCall[]) => async (): Promise<void> => {
    const startedAt = Date.now()
    const answer = await call(body)
    const [, order] = /"transaction_id":"([^"]+)"/.exec(answer) ?? []
    if (order === undefined) throw new Error(`a purchase failed: ${answer}`)
    round.push({ order, startedAt, endedAt: Date.now() })
  }
  await measureDurations(callers, calls, createCaller([]))
  const measuredRounds: (readonly TimedCall[])[] = []
  for (let n = 0; n < rounds; n++) {
    const round: TimedCall[] = []
    await measureDurations(callers, calls, createCaller(round))
    measuredRounds.push(round)
  }
  close()
  const handled = parseHandledTimes(output())
  const stepTimes = measuredRounds.map((round) =>
    computeMeans(round.map((one) => computeStepTimes(one, handled.get(one.order) ?? new Map<string, number>()))),
  )
  return toRows(callers, stepTimes)
}

/** Reads from the log when each command of each order was handled, in milliseconds since 1970. */
function parseHandledTimes(log: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const handledTimes = new Map<string, Map<string, number>>()
  for (const line of log.split('\n')) {
    if (!line.startsWith('{') || !line.includes('"command":"')) continue
    const { order, command, time } = JSON.parse(line) as { order?: string; command: string; time: string } // the market's log format
    if (order === undefined) continue
    const commands = handledTimes.get(order) ?? new Map<string, number>()
    handledTimes.set(order, commands.set(command, Date.parse(time)))
  }
  return handledTimes
}

/** @returns the duration of every step, and the duration of the whole call as the last value */
function computeStepTimes({ startedAt, endedAt }: TimedCall, handled: ReadonlyMap<string, number>): readonly number[] {
  const moments = [startedAt, ...STEPS.map(({ ends }) => handled.get(ends) ?? Number.NaN), endedAt]
  return [...moments.slice(1).map((moment, index) => moment - (moments[index] ?? Number.NaN)), endedAt - startedAt]
}

/** Computes means instead of medians, because the log has only whole milliseconds. */
const computeMeans = (calls: readonly (readonly number[])[]): readonly number[] =>
  Array.from({ length: STEPS.length + 2 }, (_, step) => {
    const times = calls.map((call) => call[step] ?? Number.NaN).filter((time) => !Number.isNaN(time))
    return times.reduce((sum, time) => sum + time, 0) / times.length
  })

function toRows(callers: number, rounds: readonly (readonly number[])[]): readonly BenchmarkRow[] {
  const whole = rounds.map((round) => round.at(-1) ?? Number.NaN)
  return [...STEPS.map((step) => step.description), LAST_STEP].map((description, step) => {
    const figures = rounds.map((round) => round[step] ?? Number.NaN)
    return {
      description: `of buy at ${callers}: ${description}`,
      unit: 'ms',
      figures,
      ratios: figures.map((figure, round) => figure / (whole[round] ?? Number.NaN)),
      reference: { name: 'the whole call', figures: whole },
    }
  })
}
